"""The event log: what happened, in order. Follow it with `?after=`."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponseBase
from django_filters import rest_framework as filters
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request

from cluster.api.fields import Name, Row
from cluster.api.filters import FromFilter, NameFilter, TenantFilter, ToFilter, WholeFilter
from cluster.api.masking import Masked
from cluster.api.pagination import FollowedLog
from cluster.api.viewset import Resource
from cluster.models import Event
from cluster.selectors.cursor import settled_cursor
from fleet.models import Node


def event_rows() -> QuerySet[Event]:
    return Event.objects.select_related("tenant", "node")


class EventRow(Masked, Row):
    tenant = Name(allow_null=True)
    job = serializers.IntegerField(source="job_id", allow_null=True)
    node = Name(allow_null=True)
    data = serializers.DictField(
        help_text="What the kind of event tells; null for jobs that you may not see."
    )

    hidden = ("data",)

    class Meta:
        model = Event
        fields = ("id", "kind", "tenant", "job", "node", "data", "at", "wall_at")


class EventFilter(filters.FilterSet):
    kind = filters.CharFilter(
        help_text="Such as `job.held`; with a dot at its end (`job.`) all that begin so.",
        method="of_kind",
    )
    job = WholeFilter(field_name="job_id")
    node = NameFilter(Node.objects.all(), field_name="node", help_text="Name of a node.")
    tenant = TenantFilter()
    at_from, at_to = FromFilter("at"), ToFilter("at")

    def of_kind(self, rows: QuerySet[Event], field: str, value: str) -> QuerySet[Event]:
        return rows.filter(kind__startswith=value) if value.endswith(".") else rows.filter(kind=value)


class Events(Resource):
    """Ids grow; an event below `next_after` never appears later."""

    queryset = event_rows()
    serializer_class = EventRow
    filterset_class = EventFilter
    pagination_class = FollowedLog
    orderings = {}
    default_ordering = "id"

    @extend_schema(
        description="With `after`, what came later, oldest first. Without it, the newest, oldest first."
    )
    def list(self, request: Request, **kwargs: Any) -> HttpResponseBase:
        return self.listed(followed(self.get_queryset(), request))


def followed(rows: QuerySet[Event], request: Request) -> QuerySet[Event]:
    """For CSV, which has no pages: all from the cursor on, as far as the log is settled."""
    if request.accepted_renderer.format != "csv":
        return rows
    return rows.filter(id__gt=FollowedLog.after(request), id__lte=settled_cursor())
