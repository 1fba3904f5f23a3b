"""Nodes: the rack map and its table, and the page of one node with drain and resume."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from cluster.charts.bar import segments
from cluster.models import Allocation, CapacityState
from cluster.pages.csv_file import csv_file
from cluster.pages.page import page, render_page
from cluster.selectors import events, rack_map
from cluster.selectors.freshness import last_tick_at
from cluster.selectors.node_runs import NodeRuns
from cluster.selectors.rack_map import Cell
from cluster.services.drain_node import drain_node, resume_node
from fleet.models import Evidence, GpuModel, Node, NodeState
from tenancy.permissions import Action, Grants

PARTS = {"map": "cluster/nodes/map.html", "rows": "cluster/nodes/rows.html"}
NODE_PARTS = {
    "state": "cluster/nodes/state.html",
    "runs": "cluster/nodes/runs.html",
    "log": "cluster/nodes/log.html",
}
MOST_ROWS = 200
CSV_HEAD = (
    "node",
    "gpu_model",
    "pod",
    "block",
    "rack",
    "rack_unit",
    "state",
    "reason",
    "drain_asked",
    "last_seen_at",
    *CapacityState.values,
    "jobs",
)


class Nodes:
    """What the page shows. The map always shows every node; what a filter leaves out is dimmed there."""

    def __init__(self, gpus: str, state: str, model: str, text: str) -> None:
        self.gpus, self.state, self.model, self.text = gpus, state, model, text

    @cached_property
    def cells(self) -> list[Cell]:
        return rack_map.cells(last_tick_at())

    @cached_property
    def chosen(self) -> list[Cell]:
        return [cell for cell in self.cells if self._matches(cell)]

    def _matches(self, cell: Cell) -> bool:
        return (
            (not self.gpus or self.gpus in cell.gpus)
            and (
                not self.state
                or cell.node_state == self.state
                or (self.state == "drained" and cell.drain_asked)
            )
            and (not self.model or cell.model == self.model)
            and (
                not self.text
                or self.text.lower() in f"{cell.name} {cell.rack} {cell.block} {cell.pod}".lower()
            )
        )

    @property
    def shown_rows(self) -> list[Cell]:
        return self.chosen[:MOST_ROWS]

    @property
    def hidden_rows(self) -> int:
        return max(0, len(self.chosen) - MOST_ROWS)

    @property
    def is_narrowed(self) -> bool:
        return bool(self.gpus or self.state or self.model or self.text)

    @cached_property
    def dimmed(self) -> set[str]:
        return {cell.name for cell in self.cells} - {cell.name for cell in self.chosen}

    @cached_property
    def pods(self) -> list[rack_map.PodView]:
        return rack_map.arrange(self.cells)

    @cached_property
    def key(self) -> list[dict[str, Any]]:
        """The legend: every state with its GPUs and the nodes that have some."""
        sums = rack_map.totals(self.cells)
        return [
            {
                "state": s.value,
                "label": s.label,
                "gpus": sums[s],
                "nodes": sum(1 for c in self.cells if s in c.gpus),
            }
            for s in CapacityState
        ]

    @cached_property
    def models(self) -> list[str]:
        return list(GpuModel.objects.values_list("name", flat=True))

    @property
    def states(self) -> list[tuple[str, str]]:
        return list(NodeState.choices)


@page
def nodes_page(request: HttpRequest) -> HttpResponse:
    asked = {name: request.GET.get(name, "").strip() for name in ("gpus", "state", "model", "text")}
    for name, allowed in (("gpus", CapacityState.values), ("state", NodeState.values)):
        if asked[name] and asked[name] not in allowed:
            text = f"{name}={asked[name]!r} is not known; allowed: {', '.join(allowed)}"
            return HttpResponseBadRequest(text, content_type="text/plain; charset=utf-8")
    shown = Nodes(**asked)
    if request.GET.get("format") == "csv":
        return csv_file("nodes", CSV_HEAD, _csv_rows(shown))
    context = {"nodes": shown, "query": request.GET.urlencode()}
    return render_page(
        request, "cluster/nodes.html", context, here="nodes", topics=("nodes", "capacity"), parts=PARTS
    )


def _csv_rows(shown: Nodes) -> Iterator[tuple[Any, ...]]:
    for cell in shown.chosen:
        yield (
            cell.name,
            cell.model,
            cell.pod,
            cell.block,
            cell.rack,
            cell.rack_unit,
            cell.node_state,
            cell.reason,
            cell.drain_asked,
            cell.last_seen_at,
            *(cell.gpus.get(s, 0) for s in CapacityState.values),
            " ".join(map(str, cell.jobs)),
        )


class NodeShown:
    """One node's page."""

    def __init__(self, node: Node, grants: Grants) -> None:
        self.node, self.grants = node, grants

    @cached_property
    def runs(self) -> NodeRuns:
        return NodeRuns(self.node)

    @cached_property
    def cell(self) -> Cell | None:
        return next((c for c in rack_map.cells(last_tick_at()) if c.name == self.node.name), None)

    @property
    def segments(self) -> list[Any]:
        return segments(self.cell.gpus) if self.cell else []

    @cached_property
    def gpus(self) -> list[dict[str, Any]]:
        """The GPUs in their slots, with the job that holds each."""
        held = {
            a.gpu_id: a
            for a in Allocation.objects.filter(node=self.node, released_at__isnull=True).select_related(
                "run__job"
            )
        }
        return [{"gpu": gpu, "allocation": held.get(gpu.pk)} for gpu in self.node.gpus.order_by("index")]

    @cached_property
    def evidence(self) -> list[Evidence]:
        return list(self.node.evidence.order_by("-seen_at", "-id")[:30])

    @cached_property
    def events(self) -> list[Any]:
        return events.of_node(self.node)

    @property
    def may_change(self) -> bool:
        return self.grants.may(Action.CHANGE_NODE)


@page
def node_page(request: HttpRequest, name: str, *, problem: str = "", status: int = 200) -> HttpResponse:
    node = _node(name)
    context = {
        "shown": NodeShown(node, request.grants),  # type: ignore[attr-defined]
        "node": node,
        "problem": problem,
        "reason": request.POST.get("reason", ""),
    }
    return render_page(
        request,
        "cluster/node.html",
        context,
        here="nodes",
        topics=("nodes",),
        parts=NODE_PARTS,
        status=status,
    )


def _node(name: str) -> Node:
    related = ("gpu_model", "block__pod", "rack", "drain_by")
    node: Node = get_object_or_404(Node.objects.select_related(*related), name=name)
    return node


@require_POST
@page
def drain(request: HttpRequest, name: str) -> HttpResponse:
    try:
        drain_node(by=request.user, node=_node(name), reason=request.POST.get("reason", ""))  # type: ignore[arg-type]
    except ValidationError as error:
        return node_page(request, name, problem=" ".join(error.messages), status=400)
    messages.success(request, f"{name} takes no new work. What runs there runs on.")
    return redirect("node", name)


@require_POST
@page
def resume(request: HttpRequest, name: str) -> HttpResponse:
    try:
        node = resume_node(by=request.user, node=_node(name))  # type: ignore[arg-type]
    except ValidationError as error:
        return node_page(request, name, problem=" ".join(error.messages), status=409)
    note = (
        "takes work again."
        if node.takes_work
        else f"is not drained any more, but is {node.get_state_display()}."
    )
    messages.success(request, f"{name} {note}")
    return redirect("node", name)
