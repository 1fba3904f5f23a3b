"""Where every installed GPU is: eight states, one identity.

At each instant every installed GPU is in exactly one state; `classify` is that partition for one world.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from cluster.scheduler.fleet import members_of
from cluster.scheduler.holdings import Holdings
from cluster.scheduler.supply import Members, Supply
from cluster.scheduler.words import Locality
from cluster.scheduler.world import ReservationView, World


class State(StrEnum):
    BUSY = "busy"
    IDLE_ALLOCATED = "idle_allocated"
    UNKNOWN_ALLOCATED = "unknown_allocated"
    STARTING = "starting"
    RESERVED = "reserved"
    PLACEABLE = "placeable"
    STRANDED = "stranded"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class Signal:
    """What is known of a run's activity. `busy_gpus` of None: no fresh signal. `ready`: it has started."""

    ready: bool
    busy_gpus: int | None


Cell = tuple[State, str, int | None]
"""(state, GPU model, run id if allocated)"""


def classify(
    world: World,
    signals: Mapping[int, Signal],
    reservations: Mapping[int, ReservationView],
    installed: Mapping[int, int],
) -> dict[Cell, int]:
    """GPUs in each state by model and run. `installed`: node index → GPUs, healthy or not.

    The values sum to all installed GPUs.
    """
    cells: dict[Cell, int] = {}
    for run in world.runs.values():
        for state, gpus in _allocated(signals.get(run.id, Signal(False, None)), sum(run.placement.values())):
            _add(cells, (state, run.shape.model, run.id), gpus)
    holdings = world.holdings or Holdings(world.fleet, world.runs.values())
    held = held_gpus(holdings.supply, reservations)
    useful = useful_sizes(world, holdings.supply)
    for index, node in enumerate(world.fleet.nodes):
        taken = sum(world.runs[r].placement[index] for r in holdings.on_node[index])
        free = max(0, holdings.supply.free[index])
        reserved = min(held.get(index, 0), free)
        placeable = usable_gpus(free - reserved, useful.get(node.model, ()))
        _add(cells, (State.UNAVAILABLE, node.model, None), installed[index] - taken - free)
        _add(cells, (State.RESERVED, node.model, None), reserved)
        _add(cells, (State.PLACEABLE, node.model, None), placeable)
        _add(cells, (State.STRANDED, node.model, None), free - reserved - placeable)
    return cells


def _add(cells: dict[Cell, int], cell: Cell, gpus: int) -> None:
    if gpus:
        cells[cell] = cells.get(cell, 0) + gpus


def _allocated(signal: Signal, gpus: int) -> Iterable[tuple[State, int]]:
    if not signal.ready:
        return ((State.STARTING, gpus),)
    if signal.busy_gpus is None:
        return ((State.UNKNOWN_ALLOCATED, gpus),)
    busy = min(signal.busy_gpus, gpus)
    return ((State.BUSY, busy), (State.IDLE_ALLOCATED, gpus - busy))


def held_gpus(supply: Supply, reservations: Mapping[int, ReservationView]) -> dict[int, int]:
    """node index → free GPUs held by reservations."""
    held: dict[int, int] = {}
    for reservation in reservations.values():
        for index, gpus in reservation.target.items():
            held[index] = min(max(0, supply.free[index]), held.get(index, 0) + gpus)
    return held


def shapes_that_count(world: World, model: str) -> set[tuple[Members, Locality]]:
    """The gangs for which free GPUs are called placeable: those that wait, and the policy's own."""
    shapes: set[tuple[Members, Locality]] = {
        (shape.members, shape.required)
        for shape, queue in world.queues.items()
        if queue and shape.model == model
    }
    chosen = members_of(world.policy.placeable_gpus, world.fleet.node_size(model))
    return shapes | {(chosen, Locality.CLUSTER)}


def useful_sizes(world: World, supply: Supply) -> dict[str, list[int]]:
    """Member sizes of the gangs that could be placed now, for each model; smallest first."""
    sizes: dict[str, list[int]] = {}
    for model in world.fleet.installed_gpus:
        fitting = {
            gpus
            for members, required in shapes_that_count(world, model)
            if supply.fits(members, model, required)
            for _, gpus in members
        }
        sizes[model] = sorted(fitting)
    return sizes


def usable_gpus(free: int, sizes: Iterable[int]) -> int:
    """The most GPUs of a node that members of these sizes could use."""
    reach = {0}
    for total in range(1, free + 1):
        if any(total - size in reach for size in sizes):
            reach.add(total)
    return max(reach)


def fits_now(supply: Supply, gpus: int, model: str, most: int = 10_000) -> int:
    """How many gangs of this many GPUs could be placed side by side now. Each takes its compact placement."""
    room, count = supply.copy(), 0
    members = members_of(gpus, supply.fleet.node_size(model))
    while count < most:
        placement = room.place(members, model, Locality.CLUSTER)
        if placement is None:
            break
        room.take(placement)
        count += 1
    return count
