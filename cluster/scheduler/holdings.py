"""Who holds what: free GPUs by node, runs by node, and each tenant's use by standing."""

from collections.abc import Iterable

from cluster.scheduler.fleet import Fleet
from cluster.scheduler.supply import Supply
from cluster.scheduler.world import RunView, Shape

STANDINGS = 3
"""0 cannot be preempted, 1 research, 2 best effort: see Shape.standing."""


class Holdings:
    """Counts that follow from the runs. `add` and `remove` keep them, one step for each node of a run."""

    def __init__(self, fleet: Fleet, runs: Iterable[RunView] = ()) -> None:
        self.fleet = fleet
        self.supply = Supply(fleet, [node.gpus for node in fleet.nodes])
        self.on_node: list[set[int]] = [set() for _ in fleet.nodes]
        self.used: dict[tuple[str, str], list[int]] = {}
        """(tenant, model) → GPUs in use by standing"""
        for run in runs:
            self.add(run)

    def add(self, run: RunView) -> None:
        self.supply.withdraw(run.placement, run.shape.draw_w)
        for index in run.placement:
            self.on_node[index].add(run.id)
        self._count(run.shape, run.shape.gpus)

    def remove(self, run: RunView) -> None:
        self.supply.give(run.placement, run.shape.draw_w)
        for index in run.placement:
            self.on_node[index].discard(run.id)
        self._count(run.shape, -run.shape.gpus)

    def _count(self, shape: Shape, gpus: int) -> None:
        used = self.used.setdefault((shape.tenant, shape.model), [0] * STANDINGS)
        used[shape.standing] += gpus
