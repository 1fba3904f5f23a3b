"""GPU models: draw, price, and how many are installed and eligible."""

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from rest_framework import serializers

from cluster.api.fields import Row
from cluster.api.viewset import ReadResource
from fleet.models import Gpu, GpuModel, Node, NodeState


def gpu_model_rows() -> QuerySet[GpuModel]:
    """Models with their counts, in one query."""
    healthy = Q(node__state=NodeState.ELIGIBLE, node__drain_asked_at=None, state=NodeState.ELIGIBLE)
    gpus = Gpu.objects.filter(node__gpu_model=OuterRef("pk")).order_by().values("node__gpu_model")
    sizes = Node.objects.annotate(n=Count("gpus")).filter(gpu_model=OuterRef("pk")).order_by("-n")
    return GpuModel.objects.annotate(
        nodes_installed=Count("nodes"),
        gpus_installed=Coalesce(Subquery(gpus.annotate(n=Count("pk")).values("n")), 0),
        gpus_eligible=Coalesce(Subquery(gpus.annotate(n=Count("pk", filter=healthy)).values("n")), 0),
        largest_node_gpus=Coalesce(Subquery(sizes.values("n")[:1]), 0),
    )


class GpuModelRow(Row):
    nodes = serializers.IntegerField(source="nodes_installed")
    gpus_installed = serializers.IntegerField()
    gpus_eligible = serializers.IntegerField(help_text="On nodes that take work.")
    gpus_per_node_max = serializers.IntegerField(source="largest_node_gpus")

    class Meta:
        model = GpuModel
        fields = (
            "name",
            "memory_gb",
            "idle_w",
            "expected_w",
            "maximum_w",
            "usd_per_gpu_hour",
            "nodes",
            "gpus_installed",
            "gpus_eligible",
            "gpus_per_node_max",
        )


class GpuModels(ReadResource):
    """Kinds of accelerators. A job names one, or gets its tenant's usual one."""

    queryset = gpu_model_rows()
    serializer_class = GpuModelRow
    orderings = {"name": "name", "gpus_installed": "gpus_installed", "usd_per_gpu_hour": "usd_per_gpu_hour"}
    default_ordering = "name"
    lookup_field = "name"
    lookup_value_regex = "[^/]+"
    noun = "GPU model"
