"""Ticks: each pass of the control loop, with what it did and what it cost."""

from django_filters import rest_framework as filters
from rest_framework import serializers

from cluster.api.fields import Row, TextOrNull
from cluster.api.filters import FromFilter, ToFilter, WholeFilter
from cluster.api.viewset import ReadResource
from cluster.models import Tick


class TickRow(Row):
    policy_version = serializers.IntegerField(source="policy.number", default=None, allow_null=True)
    at = serializers.DateTimeField(source="now", help_text="The engine's clock.")
    stale_decisions = serializers.IntegerField(
        source="stale", help_text="Overtaken by the world, not forced."
    )
    solver = serializers.ListField(
        child=serializers.DictField(),
        help_text="For each GPU model with a choice: status, GPUs, bound, gap, size, seconds.",
    )
    note = TextOrNull()

    class Meta:
        model = Tick
        fields = (
            "number",
            "at",
            "wall_at",
            "policy_version",
            "pending",
            "started",
            "held",
            "preempted",
            "stale_decisions",
            "observe_ms",
            "plan_ms",
            "apply_ms",
            "engine_ms",
            "fence",
            "planner",
            "solver",
            "note",
        )


class TickFilter(filters.FilterSet):
    number_min = WholeFilter(field_name="number", lookup_expr="gte")
    at_from, at_to = FromFilter("now"), ToFilter("now")
    started_min = WholeFilter(field_name="started", lookup_expr="gte")
    preempted_min = WholeFilter(field_name="preempted", lookup_expr="gte")


class Ticks(ReadResource):
    """The newest first; `wall_at` says how fresh everything else is."""

    queryset = Tick.objects.select_related("policy")
    serializer_class = TickRow
    filterset_class = TickFilter
    orderings = {"number": "number", "plan_ms": "plan_ms", "started": "started", "pending": "pending"}
    default_ordering = "-number"
    lookup_field = "number"
    noun = "tick"
