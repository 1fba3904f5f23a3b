"""A job as the API shows it."""

from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery
from django_filters import rest_framework as filters
from rest_framework import serializers

from cluster.api.access import reader_of
from cluster.api.fields import Name, Row, TextOrNull, WordOrNull
from cluster.api.filters import (
    FromFilter,
    GpuModelFilter,
    TenantFilter,
    ToFilter,
    WholeFilter,
    WordsFilter,
    YesNoFilter,
)
from cluster.api.masking import Masked
from cluster.models import Decision, Job, JobState, Kind, Outcome, Tier
from cluster.scheduler.words import Constraint

CONSTRAINTS = [(each.value, each.value.replace("_", " ")) for each in Constraint]
ORDERINGS = {
    "id": "id",
    "submitted_at": "submitted_at",
    "queued_at": "queued_at",
    "ended_at": "ended_at",
    "gpus": "gpus",
    "tenant": "tenant__name",
    "expected_start_median_at": "forecast__median_at",
}
"""Nothing that is hidden from some readers: an order by name would give the names away."""


def job_rows() -> QuerySet[Job]:
    """Jobs with all that a row shows, in one query."""
    holds = Decision.objects.filter(job=OuterRef("pk"), superseded_at=None, outcome=Outcome.HOLD)
    return Job.objects.select_related("tenant", "owner", "gpu_model", "hold_by", "forecast").annotate(
        reason=Subquery(holds.values("constraint")[:1])
    )


class JobRow(Masked, Row):
    tenant = Name()
    owner = Name("username")
    gpu_model = Name()
    hold_by = Name("username", allow_null=True)
    dataset, code_version, state_reason, hold_reason = TextOrNull(), TextOrNull(), TextOrNull(), TextOrNull()
    reason = WordOrNull(CONSTRAINTS, help_text="What keeps a pending job from starting; see `explain`.")
    expected_start_median_at = serializers.DateTimeField(
        source="forecast.median_at", default=None, allow_null=True, help_text="Null: not foreseen."
    )
    expected_start_p90_at = serializers.DateTimeField(
        source="forecast.p90_at", default=None, allow_null=True, help_text="With a probability of 90 %."
    )

    hidden = (
        "name",
        "owner",
        "dataset",
        "dataset_gb",
        "code_version",
        "workload",
        "state_reason",
        "hold_reason",
        "hold_by",
    )

    class Meta:
        model = Job
        fields = (
            "id",
            "name",
            "tenant",
            "owner",
            "tier",
            "kind",
            "gpus",
            "nodes",
            "gpus_per_node",
            "gpu_model",
            "locality_required",
            "locality_preferred",
            "objective",
            "deadline",
            "expected_duration_s",
            "time_limit_s",
            "preemptible",
            "checkpoint_on_signal",
            "checkpoint_interval_s",
            "checkpoint_cost_s",
            "grace_s",
            "restart_cost_s",
            "readiness_timeout_s",
            "retry_limit",
            "preemption_budget",
            "gpu_draw_w",
            "dataset",
            "dataset_gb",
            "code_version",
            "workload",
            "state",
            "state_reason",
            "reason",
            "expected_start_median_at",
            "expected_start_p90_at",
            "submitted_at",
            "queued_at",
            "not_before",
            "admin_hold",
            "hold_reason",
            "hold_by",
            "progress_s",
            "retries",
            "preemptions",
            "ended_at",
            "version",
        )


class JobFilter(filters.FilterSet):
    state = WordsFilter(JobState)
    tier = WordsFilter(Tier)
    kind = WordsFilter(Kind)
    tenant = TenantFilter()
    gpu_model = GpuModelFilter()
    reason = filters.MultipleChoiceFilter(
        choices=CONSTRAINTS, distinct=False, help_text="What keeps it from starting."
    )
    gpus_min = WholeFilter(field_name="gpus", lookup_expr="gte")
    gpus_max = WholeFilter(field_name="gpus", lookup_expr="lte")
    admin_hold = YesNoFilter(field_name="admin_hold")
    submitted_from, submitted_to = FromFilter("submitted_at"), ToFilter("submitted_at")
    ended_from, ended_to = FromFilter("ended_at"), ToFilter("ended_at")
    owner = filters.CharFilter(method="of_owner", help_text="User name; finds jobs that you may see.")
    name = filters.CharFilter(method="named", help_text="Part of the name; finds jobs that you may see.")

    def of_owner(self, rows: QuerySet[Job], field: str, value: str) -> QuerySet[Job]:
        return self._seen(rows).filter(owner__username=value)

    def named(self, rows: QuerySet[Job], field: str, value: str) -> QuerySet[Job]:
        return self._seen(rows).filter(name__icontains=value)

    def _seen(self, rows: QuerySet[Job]) -> QuerySet[Job]:
        """A search through what is hidden would tell it."""
        request: Any = self.request
        return rows.filter(tenant__in=reader_of(request).visible_tenants)
