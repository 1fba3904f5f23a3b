"""The scheduling policy: versions as published, and the one in force."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from cluster.api.fields import Name, Row, TextOrNull
from cluster.api.viewset import ReadResource
from cluster.selectors.policy import in_force
from tenancy.models import PolicyVersion


class PolicyRow(Row):
    settings = serializers.DictField(help_text="What this version states; the rest is as usual.")
    published_by = Name("username", allow_null=True)
    note = TextOrNull()

    class Meta:
        model = PolicyVersion
        fields = ("number", "settings", "published_at", "published_by", "note")


class PolicyInForce(serializers.Serializer):
    """Every knob with its value now."""

    number = serializers.IntegerField(allow_null=True, help_text="Null: none was published, all is as usual.")
    published_at = serializers.DateTimeField(allow_null=True)
    settings = serializers.DictField()


class PolicyVersions(ReadResource):
    """Versions are never edited; every tick names the one it used."""

    queryset = PolicyVersion.objects.select_related("published_by")
    serializer_class = PolicyRow
    orderings = {"number": "number", "published_at": "published_at"}
    default_ordering = "-number"
    lookup_field = "number"
    lookup_value_regex = "[0-9]+"
    noun = "policy version"

    @extend_schema(responses=PolicyInForce)
    @action(detail=False)
    def current(self, request: Request, **kwargs: object) -> Response:
        """The policy that the next tick uses, whole."""
        return Response(PolicyInForce(in_force()).data)
