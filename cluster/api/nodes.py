"""Nodes: their place, state and GPUs; drain and resume; what was seen of them."""

from typing import Any

from django.db.models import Count, OuterRef, Prefetch, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpResponseBase
from django_filters import rest_framework as filters
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from cluster.api.fields import Closed, Name, Row, Text, TextOrNull
from cluster.api.filters import FromFilter, GpuModelFilter, NameFilter, ToFilter, WordsFilter, YesNoFilter
from cluster.api.viewset import ReadResource
from cluster.models import Allocation
from cluster.services.drain_node import drain_node, resume_node
from fabric.models import Block, Pod, Rack
from fleet.models import Evidence, EvidenceKind, Gpu, Node, NodeState


def node_rows() -> QuerySet[Node]:
    """Nodes with their counts, in one query."""
    held = Allocation.objects.filter(node=OuterRef("pk"), released_at=None).order_by().values("node")
    return Node.objects.select_related("gpu_model", "block__pod", "rack", "drain_by").annotate(
        gpus_installed=Count("gpus"),
        gpus_healthy=Count("gpus", filter=Q(gpus__state=NodeState.ELIGIBLE)),
        gpus_held=Coalesce(Subquery(held.annotate(n=Count("pk")).values("n")), 0),
    )


class NodeRow(Row):
    gpu_model = Name()
    pod = Name(source="block.pod")
    block = Name()
    rack = Name()
    state_reason = TextOrNull()
    takes_work = serializers.BooleanField(help_text="Eligible, and nobody has drained it.")
    drain_by = Name("username", allow_null=True)
    drain_reason = TextOrNull()
    gpus = serializers.IntegerField(source="gpus_installed", help_text="Installed, in whatever state.")
    gpus_healthy = serializers.IntegerField()
    gpus_held = serializers.IntegerField(help_text="Held by runs now.")

    class Meta:
        model = Node
        fields: tuple[str, ...] = (
            "name",
            "gpu_model",
            "pod",
            "block",
            "rack",
            "rack_unit",
            "base_w",
            "state",
            "state_reason",
            "state_since",
            "takes_work",
            "drain_by",
            "drain_reason",
            "drain_asked_at",
            "last_seen_at",
            "gpus",
            "gpus_healthy",
            "gpus_held",
        )


class Slot(Row):
    """One GPU of a node, and the job that holds it."""

    uuid = TextOrNull()
    job = serializers.SerializerMethodField(allow_null=True)

    class Meta:
        model = Gpu
        fields = ("index", "uuid", "state", "job")

    @extend_schema_field({"type": "integer", "nullable": True})
    def get_job(self, row: Gpu) -> int | None:
        held: list[Allocation] = row.open_allocations  # type: ignore[attr-defined]
        return held[0].run.job_id if held else None


class NodeWhole(NodeRow):
    slots = Slot(source="gpus", many=True)

    class Meta(NodeRow.Meta):
        fields = (*NodeRow.Meta.fields, "slots")


class NodeFilter(filters.FilterSet):
    state = WordsFilter(NodeState)
    drained = YesNoFilter(
        field_name="drain_asked_at", lookup_expr="isnull", exclude=True, help_text="A person has drained it."
    )
    gpu_model = GpuModelFilter()
    pod = NameFilter(Pod.objects.all(), field_name="block__pod", help_text="Name of a pod.")
    block = NameFilter(Block.objects.all(), field_name="block", help_text="Name of a block.")
    rack = NameFilter(Rack.objects.all(), field_name="rack", help_text="Name of a rack.")


class EvidenceRow(Row):
    detail = TextOrNull()

    class Meta:
        model = Evidence
        fields = ("id", "kind", "source", "detail", "seen_at")


class EvidenceFilter(filters.FilterSet):
    kind = WordsFilter(EvidenceKind)
    seen_from, seen_to = FromFilter("seen_at"), ToFilter("seen_at")


class DrainRequest(Closed):
    reason = Text(max_length=200, help_text="Why: the next on duty will read it.")


class ResumeRequest(Closed):
    """Nothing to state."""


class Nodes(ReadResource):
    """Hosts. Only eligible ones that nobody has drained take work."""

    queryset = node_rows()
    serializer_class = NodeRow
    filterset_class = NodeFilter
    orderings = {
        "name": "name",
        "state": "state",
        "state_since": "state_since",
        "last_seen_at": "last_seen_at",
        "block": "block__name",
        "rack": "rack__name",
        "gpus_held": "gpus_held",
    }
    default_ordering = "name"
    lookup_field = "name"
    lookup_value_regex = "[^/]+"
    noun = "node"
    csv_actions = frozenset({"list", "evidence"})

    @extend_schema(responses=NodeWhole)
    def retrieve(self, request: Request, **kwargs: Any) -> Response:
        """One node, with its GPUs in their slots."""
        return Response(NodeWhole(self._whole()).data)

    def _whole(self) -> Node:
        held = Allocation.objects.filter(released_at=None).select_related("run")
        slots = Gpu.objects.order_by("index").prefetch_related(
            Prefetch("allocations", queryset=held, to_attr="open_allocations")
        )
        self.queryset = node_rows().prefetch_related(Prefetch("gpus", queryset=slots))
        node: Node = self.get_object()
        return node

    @extend_schema(request=DrainRequest, responses=NodeRow)
    @action(detail=True, methods=["post"])
    def drain(self, request: Request, **kwargs: Any) -> Response:
        """Drain it: no new work; what runs there runs on. It stays so until a person resumes it."""
        drain_node(by=request.user, node=self.get_object(), **self.asked(DrainRequest))
        return Response(NodeRow(self.get_object()).data)

    @extend_schema(request=ResumeRequest, responses=NodeRow)
    @action(detail=True, methods=["post"])
    def resume(self, request: Request, **kwargs: Any) -> Response:
        """Resume it: it takes work again, unless its state forbids that."""
        self.asked(ResumeRequest)
        resume_node(by=request.user, node=self.get_object())
        return Response(NodeRow(self.get_object()).data)

    @extend_schema(responses=EvidenceRow(many=True))
    @action(
        detail=True,
        serializer_class=EvidenceRow,
        filterset_class=EvidenceFilter,
        orderings={"id": "id", "seen_at": "seen_at"},
        default_ordering="-seen_at",
    )
    def evidence(self, request: Request, **kwargs: Any) -> HttpResponseBase:
        """What was seen of it, the newest first."""
        return self.listed(Evidence.objects.filter(node=self.get_object()))
