"""Tenants in their tree: entitled, used, lent, borrowed and waiting, by GPU model."""

from typing import Any

from django.http import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from cluster.api.fields import TextOrNull
from cluster.api.viewset import Resource
from cluster.selectors.standing import Standing, standings


class TenantModelRow(serializers.Serializer):
    """One GPU model, in GPUs. A group's line holds those of its teams."""

    gpu_model = serializers.CharField(source="model")
    entitled_gpus = serializers.IntegerField(
        source="entitled", allow_null=True, help_text="Null: none is stated."
    )
    lending_limit_gpus = serializers.IntegerField(
        source="lending_limit", allow_null=True, help_text="Null: unlimited."
    )
    borrowing_limit_gpus = serializers.IntegerField(
        source="borrowing_limit", allow_null=True, help_text="Null: unlimited."
    )
    used_gpus = serializers.IntegerField(source="used", help_text="Allocated now, own and borrowed.")
    busy_gpus = serializers.IntegerField(source="busy")
    borrowed_gpus = serializers.IntegerField(source="borrowed", help_text="Used above the entitlement.")
    lent_gpus = serializers.IntegerField(source="lent", help_text="Its part of the loans that others have.")
    idle_entitlement_gpus = serializers.IntegerField(source="idle_entitlement")
    waiting_gpus = serializers.IntegerField(help_text="Asked for by pending jobs.")
    waiting_jobs = serializers.IntegerField()


class TenantRow(serializers.Serializer):
    name = serializers.CharField(source="tenant.name")
    title = TextOrNull(source="tenant.title")
    parent = serializers.CharField(source="parent_name", allow_null=True)
    depth = serializers.IntegerField(help_text="0 for the top of the tree.")
    is_group = serializers.BooleanField(help_text="Has tenants below it.")
    weight = serializers.FloatField(
        source="tenant.weight", help_text="Share of loans relative to its siblings."
    )
    models = TenantModelRow(many=True, source="rows")


class Tenants(Resource):
    """Parents before their children; as of the last tick."""

    serializer_class = TenantRow
    filter_backends = ()
    orderings = {}
    lookup_field = "name"
    lookup_value_regex = "[^/]+"
    csv_expand = "models"
    noun = "tenant"

    @extend_schema(responses=TenantRow(many=True))
    def list(self, request: Request, **kwargs: Any) -> HttpResponseBase:
        return self.listed(_named(standings()))

    @extend_schema(responses=TenantRow)
    def retrieve(self, request: Request, **kwargs: Any) -> Response:
        name = kwargs["name"]
        for found in _named(standings()):
            if found.tenant.name == name:
                return Response(TenantRow(found).data)
        raise NotFound(f"there is no tenant {name}")


def _named(found: list[Standing]) -> list[Standing]:
    """Each with the name of its parent at hand: the rows of the tree hold its key only."""
    names = {standing.tenant.pk: standing.tenant.name for standing in found}
    for standing in found:
        standing.parent_name = names.get(standing.tenant.parent_id)  # type: ignore[attr-defined]
    return found
