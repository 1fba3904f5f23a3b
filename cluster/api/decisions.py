"""Decisions: what was decided of a job, when, under which policy, and why. Their addresses are permanent."""

from typing import Any

from django.db.models import QuerySet
from django_filters import rest_framework as filters
from rest_framework import serializers

from cluster.api.fields import Name, Row, WordOrNull
from cluster.api.filters import FromFilter, OpenFilter, TenantFilter, ToFilter, WholeFilter, WordsFilter
from cluster.api.job_rows import CONSTRAINTS
from cluster.api.masking import Masked
from cluster.api.verdicts import VerdictRow
from cluster.api.viewset import ReadResource
from cluster.models import Decision, Outcome
from cluster.selectors.explanation import decision_text, verdicts_now

ORDERINGS = {"id": "id", "made_at": "made_at", "superseded_at": "superseded_at"}


def decision_rows() -> QuerySet[Decision]:
    return Decision.objects.select_related("job__tenant", "tick__policy", "run", "explanation")


class DecisionRow(Masked, Row):
    job = serializers.IntegerField(source="job_id")
    tenant = Name(source="job.tenant")
    constraint = WordOrNull(CONSTRAINTS, help_text="The one that binds; null for a start.")
    run = serializers.IntegerField(source="run.number", default=None, allow_null=True)
    tick = serializers.IntegerField(source="tick.number", default=None, allow_null=True)
    policy_version = serializers.IntegerField(source="tick.policy.number", default=None, allow_null=True)
    text = serializers.SerializerMethodField(allow_null=True, help_text="The reason as a sentence.")

    hidden: tuple[str, ...] = ("text",)

    class Meta:
        model = Decision
        fields: tuple[str, ...] = (
            "id",
            "job",
            "tenant",
            "outcome",
            "constraint",
            "text",
            "run",
            "tick",
            "policy_version",
            "made_at",
            "superseded_at",
        )

    def tenant_id_of(self, row: Decision) -> int:
        return row.job.tenant_id

    def get_text(self, row: Decision) -> str:
        return decision_text(row)


class DecisionWhole(DecisionRow):
    """With the verdicts: as they stood when it was made, and for an open hold as they stand now."""

    verdicts = VerdictRow(many=True)
    verdicts_now = serializers.SerializerMethodField(allow_null=True)
    evaluated_at = serializers.DateTimeField(
        source="explanation.evaluated_at", default=None, allow_null=True, help_text="Of `verdicts_now`."
    )

    hidden = ("text", "verdicts", "verdicts_now")

    class Meta(DecisionRow.Meta):
        fields = (*DecisionRow.Meta.fields, "verdicts", "verdicts_now", "evaluated_at")

    def get_verdicts_now(self, row: Decision) -> list[dict[str, Any]] | None:
        if row.superseded_at is not None or row.outcome != Outcome.HOLD:
            return None
        return [verdict.as_json() for verdict in verdicts_now(row)]

    def get_fields(self) -> dict[str, serializers.Field]:
        fields = super().get_fields()
        fields["verdicts_now"].read_only = True
        return fields


class DecisionFilter(filters.FilterSet):
    outcome = WordsFilter(Outcome)
    constraint = filters.MultipleChoiceFilter(choices=CONSTRAINTS, distinct=False)
    job = WholeFilter(field_name="job_id")
    tenant = TenantFilter("job__tenant")
    tick = WholeFilter(field_name="tick__number")
    policy_version = WholeFilter(field_name="tick__policy__number")
    open = OpenFilter("superseded_at", help_text="Not superseded.")
    made_from, made_to = FromFilter("made_at"), ToFilter("made_at")


class Decisions(ReadResource):
    """A pending job has exactly one that is open; a new one is made when its reason changes."""

    queryset = decision_rows()
    filterset_class = DecisionFilter
    orderings = ORDERINGS
    default_ordering = "-made_at"
    noun = "decision"

    def get_serializer_class(self) -> type[DecisionRow]:
        return DecisionWhole if self.action == "retrieve" else DecisionRow
