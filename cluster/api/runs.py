"""Runs: the attempts of jobs. Checkpoints belong to them."""

from django.db.models import QuerySet
from django_filters import rest_framework as filters
from rest_framework import serializers

from cluster.api.fields import Name, Row, TextOrNull, WordOrNull
from cluster.api.filters import (
    FromFilter,
    OpenFilter,
    TenantFilter,
    ToFilter,
    WholeFilter,
    WordsFilter,
    YesNoFilter,
)
from cluster.api.masking import Masked
from cluster.api.viewset import ReadResource
from cluster.models import Checkpoint, Run, RunOutcome, RunState

ORDERINGS = {
    "id": "id",
    "number": "number",
    "planned_at": "planned_at",
    "ready_at": "ready_at",
    "ended_at": "ended_at",
    "lost_s": "lost_s",
    "gpus": "job__gpus",
}


def run_rows() -> QuerySet[Run]:
    return Run.objects.select_related("job__tenant", "tick")


class RunRow(Masked, Row):
    job = serializers.IntegerField(source="job_id")
    tenant = Name(source="job.tenant")
    gpus = serializers.IntegerField(source="job.gpus")
    outcome = WordOrNull(RunOutcome, help_text="Null while it has not ended.")
    stop_reason = WordOrNull(RunOutcome, help_text="Why it was asked to stop.")
    tick = serializers.IntegerField(source="tick.number", default=None, allow_null=True)
    engine_note = TextOrNull()

    hidden = ("engine_note", "exit_code")

    class Meta:
        model = Run
        fields = (
            "id",
            "job",
            "tenant",
            "number",
            "gpus",
            "state",
            "outcome",
            "is_backfill",
            "tick",
            "planned_at",
            "launched_at",
            "ready_at",
            "stop_requested_at",
            "stop_reason",
            "grace_until",
            "ended_at",
            "resumed_from_s",
            "progress_s",
            "last_checkpoint_at",
            "lost_s",
            "activity_busy_gpus",
            "activity_at",
            "engine_note",
            "exit_code",
            "launch_key",
        )

    def tenant_id_of(self, row: Run) -> int:
        return row.job.tenant_id


class RunFilter(filters.FilterSet):
    state = WordsFilter(RunState)
    outcome = WordsFilter(RunOutcome)
    job = WholeFilter(field_name="job_id")
    tenant = TenantFilter("job__tenant")
    is_backfill = YesNoFilter(field_name="is_backfill")
    open = OpenFilter("ended_at", help_text="Has not ended.")
    planned_from, planned_to = FromFilter("planned_at"), ToFilter("planned_at")
    ended_from, ended_to = FromFilter("ended_at"), ToFilter("ended_at")


class Runs(ReadResource):
    """Attempts of jobs, each with its whole gang."""

    queryset = run_rows()
    serializer_class = RunRow
    filterset_class = RunFilter
    orderings = ORDERINGS
    default_ordering = "-planned_at"
    noun = "run"


class CheckpointRow(Row):
    run = serializers.IntegerField(source="run.number", help_text="Number of the run within its job.")

    class Meta:
        model = Checkpoint
        fields = ("id", "run", "at", "progress_s")


class CheckpointFilter(filters.FilterSet):
    run = WholeFilter(field_name="run__number", help_text="Number of the run within its job.")
    at_from, at_to = FromFilter("at"), ToFilter("at")
