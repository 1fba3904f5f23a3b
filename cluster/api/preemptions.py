"""Receipts of preemptions: who gave way to whom, by which rule, what was lost, where the victim is now."""

from django_filters import rest_framework as filters
from rest_framework import serializers

from cluster.api.fields import Name, Row, Word
from cluster.api.filters import FromFilter, OpenFilter, TenantFilter, ToFilter, WholeFilter, WordsFilter
from cluster.api.viewset import ReadResource
from cluster.models import JobState, Preemption, PreemptionRule


class PreemptionRow(Row):
    victim_job = serializers.IntegerField(source="victim.job_id")
    victim_run = serializers.IntegerField(source="victim_id")
    victim_tenant = Name(source="victim.job.tenant")
    victim_state = Word(JobState, source="victim.job.state", help_text="Where the victim's job stands now.")
    by_job = serializers.IntegerField(source="by_job_id", allow_null=True)
    by_tenant = serializers.CharField(source="by_job.tenant.name", default=None, allow_null=True)
    tick = serializers.IntegerField(source="tick.number", default=None, allow_null=True)

    class Meta:
        model = Preemption
        fields = (
            "id",
            "victim_job",
            "victim_run",
            "victim_tenant",
            "victim_state",
            "by_job",
            "by_tenant",
            "rule",
            "level",
            "gpus",
            "lost_gpu_hours",
            "signalled_at",
            "deadline",
            "ended_at",
            "tick",
        )


class PreemptionFilter(filters.FilterSet):
    rule = WordsFilter(PreemptionRule)
    victim_job = WholeFilter(field_name="victim__job_id")
    by_job = WholeFilter(field_name="by_job_id")
    victim_tenant = TenantFilter("victim__job__tenant")
    by_tenant = TenantFilter("by_job__tenant")
    open = OpenFilter("ended_at", help_text="The victim is still leaving.")
    signalled_from, signalled_to = FromFilter("signalled_at"), ToFilter("signalled_at")


class Preemptions(ReadResource):
    """`lost_gpu_hours` is null until the victim has ended."""

    queryset = Preemption.objects.select_related("victim__job__tenant", "by_job__tenant", "tick")
    serializer_class = PreemptionRow
    filterset_class = PreemptionFilter
    orderings = {
        "id": "id",
        "signalled_at": "signalled_at",
        "gpus": "gpus",
        "lost_gpu_hours": "lost_gpu_hours",
    }
    default_ordering = "-signalled_at"
    noun = "preemption"
