"""Every node at its place, and what its GPUs do: for the rack map and its table."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Count

from cluster.models import CapacityState
from cluster.pipeline.capacity import signal
from cluster.pipeline.observe import Observed, observe
from cluster.scheduler import capacity as capacity_of
from cluster.scheduler.holdings import Holdings
from fleet.models import Node, NodeState

WIDEST = 16
GLYPHS: Mapping[str, str] = {
    NodeState.SUSPECT: "S",
    NodeState.QUARANTINE: "Q",
    NodeState.REPAIR: "R",
    NodeState.VALIDATION: "V",
    NodeState.DRAINED: "D",
    NodeState.NOT_ACCEPTED: "N",
}


@dataclass(frozen=True)
class Cell:
    """One node on the map. The states of its GPUs sum to its GPUs."""

    name: str
    model: str
    block: str
    pod: str
    rack: str
    rack_unit: int
    node_state: str
    reason: str
    drain_asked: bool
    state_since: datetime
    last_seen_at: datetime | None
    gpus: Mapping[str, int]
    """capacity state → GPUs, those above zero, in the order of the states"""
    jobs: tuple[int, ...] = ()

    @property
    def total(self) -> int:
        return sum(self.gpus.values())

    @property
    def main_state(self) -> str:
        return max(self.gpus, key=lambda state: self.gpus[state]) if self.gpus else CapacityState.UNAVAILABLE

    @property
    def is_uniform(self) -> bool:
        return len(self.gpus) <= 1

    @property
    def segments(self) -> list[tuple[str, int]]:
        """(state, width): how the cell is divided, in GPUs; in sixteenths where a node has more."""
        if self.total <= WIDEST:
            return list(self.gpus.items())
        return [(state, max(1, round(WIDEST * gpus / self.total))) for state, gpus in self.gpus.items()]

    @property
    def glyph(self) -> str:
        """A letter for a node that takes no work, so that colour does not say it alone."""
        return GLYPHS.get(self.node_state, "D" if self.drain_asked else "")

    @property
    def words(self) -> str:
        parts = ", ".join(f"{gpus} {CapacityState(state).label}" for state, gpus in self.gpus.items())
        state = "" if self.node_state == NodeState.ELIGIBLE else f", {NodeState(self.node_state).label}"
        drain = ", drain asked" if self.drain_asked and self.node_state != NodeState.DRAINED else ""
        return f"{self.name}: {parts or 'no GPUs'}{state}{drain}"


@dataclass
class RackView:
    name: str
    cells: list[Cell] = field(default_factory=list)


@dataclass
class BlockView:
    name: str
    racks: dict[str, RackView] = field(default_factory=dict)

    @property
    def nodes(self) -> int:
        return sum(len(rack.cells) for rack in self.racks.values())


@dataclass
class PodView:
    name: str
    blocks: dict[str, BlockView] = field(default_factory=dict)


def cells(now: datetime) -> list[Cell]:
    """All nodes in the order of the map, counted as the control loop does; a constant number of queries."""
    observed = observe(now)
    installed = dict(Node.objects.annotate(n=Count("gpus")).values_list("pk", "n"))
    states = node_states(observed, installed)
    jobs: dict[int, set[int]] = {}
    for run in observed.world.runs.values():
        for index in run.placement:
            jobs.setdefault(observed.node_ids[index], set()).add(run.job_id)
    order = (
        "block__pod__name",
        "block__name",
        "rack__row",
        "rack__position",
        "rack__name",
        "-rack_unit",
        "name",
    )
    nodes = Node.objects.order_by(*order).select_related("gpu_model", "block__pod", "rack")
    return [_cell(node, states[node.pk], jobs.get(node.pk, ())) for node in nodes]


def _cell(node: Node, states: Mapping[str, int], jobs: Iterable[int]) -> Cell:
    return Cell(
        name=node.name,
        model=node.gpu_model.name,
        block=node.block.name,
        pod=node.block.pod.name,
        rack=node.rack.name,
        rack_unit=node.rack_unit,
        node_state=node.state,
        reason=node.drain_reason or node.state_reason,
        drain_asked=node.drain_asked_at is not None,
        state_since=node.drain_asked_at or node.state_since,
        last_seen_at=node.last_seen_at,
        gpus={state: states[state] for state in CapacityState.values if states.get(state)},
        jobs=tuple(sorted(jobs)),
    )


def node_states(observed: Observed, installed: Mapping[int, int]) -> dict[int, dict[str, int]]:
    """Node key → capacity state → GPUs. `installed`: node key → GPUs, healthy or not."""
    world = observed.world
    holdings = world.holdings or Holdings(world.fleet, world.runs.values())
    held = _allocated_states(observed)
    kept = capacity_of.held_gpus(holdings.supply, world.reservations)
    useful = capacity_of.useful_sizes(world, holdings.supply)
    found: dict[int, dict[str, int]] = {}
    for index, node in enumerate(world.fleet.nodes):
        pk, states = observed.node_ids[index], dict(held.get(index, {}))
        free = max(0, holdings.supply.free[index])  # less than none where a GPU failed under a run
        reserved = min(kept.get(index, 0), free)
        placeable = capacity_of.usable_gpus(free - reserved, useful.get(node.model, ()))
        states[CapacityState.UNAVAILABLE] = max(0, installed.get(pk, 0) - sum(states.values()) - free)
        states[CapacityState.RESERVED] = reserved
        states[CapacityState.PLACEABLE] = placeable
        states[CapacityState.STRANDED] = free - reserved - placeable
        found[pk] = states
    return found


def _allocated_states(observed: Observed) -> dict[int, dict[str, int]]:
    """Node index → state → GPUs held by runs. A gang's busy GPUs are counted off node by node."""
    world, found = observed.world, {}
    for run_id, run in world.runs.items():
        told = signal(observed.runs[run_id], observed.at, world.policy.activity_fresh_s)
        busy_left = told.busy_gpus or 0
        for index, gpus in run.placement.items():
            states = found.setdefault(index, {})
            if not told.ready or told.busy_gpus is None:
                state = CapacityState.UNKNOWN_ALLOCATED if told.ready else CapacityState.STARTING
                states[state] = states.get(state, 0) + gpus
                continue
            busy = min(gpus, busy_left)
            busy_left -= busy
            states[CapacityState.BUSY] = states.get(CapacityState.BUSY, 0) + busy
            states[CapacityState.IDLE_ALLOCATED] = states.get(CapacityState.IDLE_ALLOCATED, 0) + gpus - busy
    return found


def arrange(found: Iterable[Cell]) -> list[PodView]:
    """The cells as pods, blocks and racks."""
    pods: dict[str, PodView] = {}
    for cell in found:
        pod = pods.setdefault(cell.pod, PodView(cell.pod))
        block = pod.blocks.setdefault(cell.block, BlockView(cell.block))
        block.racks.setdefault(cell.rack, RackView(cell.rack)).cells.append(cell)
    return list(pods.values())


def totals(found: Iterable[Cell]) -> dict[str, int]:
    """GPUs of these cells by capacity state."""
    sums = dict.fromkeys(CapacityState.values, 0)
    for cell in found:
        for state, gpus in cell.gpus.items():
            sums[state] += gpus
    return sums
