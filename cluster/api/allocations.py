"""Allocations: which run holds, or held, which GPU."""

from django_filters import rest_framework as filters
from rest_framework import serializers

from cluster.api.fields import Name, Row
from cluster.api.filters import FromFilter, NameFilter, OpenFilter, TenantFilter, ToFilter, WholeFilter
from cluster.api.viewset import ReadResource
from cluster.models import Allocation
from fleet.models import Node


class AllocationRow(Row):
    run = serializers.IntegerField(source="run_id")
    job = serializers.IntegerField(source="run.job_id")
    tenant = Name(source="run.job.tenant")
    node = Name()
    gpu_index = serializers.IntegerField(source="gpu.index", help_text="Slot of the GPU in its node.")

    class Meta:
        model = Allocation
        fields = ("id", "run", "job", "tenant", "node", "gpu_index", "started_at", "released_at")


class AllocationFilter(filters.FilterSet):
    run = WholeFilter(field_name="run_id")
    job = WholeFilter(field_name="run__job_id")
    tenant = TenantFilter("run__job__tenant")
    node = NameFilter(Node.objects.all(), field_name="node", help_text="Name of a node.")
    open = OpenFilter("released_at", help_text="Held now.")
    started_from, started_to = FromFilter("started_at"), ToFilter("started_at")


class Allocations(ReadResource):
    """One row for each GPU and run; a GPU is in at most one that is open."""

    queryset = Allocation.objects.select_related("run__job__tenant", "node", "gpu")
    serializer_class = AllocationRow
    filterset_class = AllocationFilter
    orderings = {"id": "id", "started_at": "started_at", "released_at": "released_at", "node": "node__name"}
    default_ordering = "-id"
    noun = "allocation"
