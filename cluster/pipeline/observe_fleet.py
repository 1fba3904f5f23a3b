"""Rows of nodes, GPUs, evidence and power → the planner's Fleet."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count

from cluster.scheduler.fleet import Fleet, NodeView
from cluster.scheduler.policy import Policy
from cluster.scheduler.power import PowerGrid, PowerLimit
from fabric.rules.power import tightest
from fabric.selectors.power_limits import power_limits
from fleet.models import Evidence, EvidenceKind, Gpu, GpuModel, Node, NodeState

DOUBTS = (EvidenceKind.NODE_LOST, EvidenceKind.FAILED_START)
MOST_DOUBTS = 3
"""Beyond so many sightings one node is as doubtful as another."""


@dataclass(frozen=True)
class ModelView:
    """What the planner needs of a GPU model. Watts of one GPU; None = unknown."""

    name: str
    node_gpus: int
    """GPUs of its largest node"""
    idle_w: float | None = None
    expected_w: float | None = None
    maximum_w: float | None = None

    def draw_w(self, stated_w: float | None = None) -> float:
        """What a GPU adds to its idle draw under a job that states so much; 0 where nothing is known."""
        known = (w for w in (stated_w, self.expected_w, self.maximum_w) if w is not None)
        return max(0.0, next(known, 0.0) - (self.idle_w or 0.0))


@dataclass(frozen=True)
class FleetRead:
    node_ids: tuple[int, ...]
    fleet: Fleet
    models: dict[int, ModelView]
    """by primary key"""
    cache_gb: dict[int, float]
    """node index → size of its cache; nodes whose cache is unknown are missing"""


def read_fleet(policy: Policy, at: datetime) -> FleetRead:
    """A constant number of queries, however many nodes there are."""
    healthy: dict[int, int] = defaultdict(int)
    installed: dict[int, int] = defaultdict(int)
    gpus = Gpu.objects.order_by().values_list("node_id", "state").annotate(n=Count("id"))
    for node_id, state, count in gpus:
        installed[node_id] += count
        healthy[node_id] += count if state == NodeState.ELIGIBLE else 0
    doubts = _doubts(policy, at)
    rows = list(_node_rows())
    largest: dict[int, int] = defaultdict(int)
    ids, views, cache_gb, draws = [], [], {}, _RackDraws()
    models = {model.pk: model for model in GpuModel.objects.all()}
    for row in rows:
        pk, model_id, name, block, pod, rack, base_w, cache, state, drain_reason, drain_asked_at = row
        model = models[model_id]
        largest[model_id] = max(largest[model_id], installed[pk])
        why_not = "" if state == NodeState.ELIGIBLE else NodeState(state).label
        if not why_not and drain_asked_at is not None:
            why_not = f"drained: {drain_reason}"
        if cache is not None:
            cache_gb[len(ids)] = cache
        draws.add(rack, base_w, model, installed[pk])
        ids.append(pk)
        views.append(
            NodeView(name, model.name, healthy[pk], block, pod, not why_not, why_not, rack, doubts.get(pk, 0))
        )
    grid = PowerGrid(_limits(policy), [view.rack for view in views], draws.base_w, draws.peak_w)
    known = {
        pk: ModelView(m.name, largest[pk], m.idle_w, m.expected_w, m.maximum_w) for pk, m in models.items()
    }
    return FleetRead(tuple(ids), Fleet(views, grid), known, cache_gb)


def _limits(policy: Policy) -> Iterable[PowerLimit]:
    return (
        PowerLimit(limit.scope, limit.state, limit.limit_w, limit.share)
        for limit in tightest(power_limits(policy.failure_states))
    )


class _RackDraws:
    """What racks draw when nothing runs, and the most that jobs could add. Watts."""

    def __init__(self) -> None:
        self.base_w: dict[str, float] = defaultdict(float)
        """Of hosts whose draw is not known nothing is counted: "at least" is all that can be said."""
        self.peak_w: dict[str, float | None] = {}

    def add(self, rack: str, base_w: float | None, model: GpuModel, gpus: int) -> None:
        self.base_w[rack] += (base_w or 0.0) + gpus * (model.idle_w or 0.0)
        peak = self.peak_w.get(rack, 0.0)
        if peak is None or model.maximum_w is None:
            self.peak_w[rack] = None
        else:
            self.peak_w[rack] = peak + gpus * max(0.0, model.maximum_w - (model.idle_w or 0.0))


def _doubts(policy: Policy, at: datetime) -> dict[int, int]:
    """node → sightings against it that no gate has judged yet."""
    recent = Evidence.objects.filter(kind__in=DOUBTS, seen_at__gt=at - timedelta(seconds=policy.doubt_s))
    rows = recent.order_by().values_list("node_id").annotate(n=Count("id"))
    return {node_id: min(n, MOST_DOUBTS) for node_id, n in rows}


def _node_rows() -> Iterable[tuple[Any, ...]]:
    places = ("block__name", "block__pod__name", "rack__name")
    own = ("base_w", "cache_gb", "state", "drain_reason", "drain_asked_at")
    return Node.objects.order_by("name").values_list("pk", "gpu_model_id", "name", *places, *own)
