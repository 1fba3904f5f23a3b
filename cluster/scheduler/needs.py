"""What a gang asks of nodes besides free GPUs: power, room for its data, and which it would rather have."""

from collections.abc import Mapping
from dataclasses import dataclass, field

NO_NODES: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class DatasetView:
    """Where a dataset is, whole and verified, and what it takes to bring it elsewhere."""

    size_gb: float | None = None
    holders: frozenset[int] = NO_NODES
    """node indexes"""
    stage_s: float = 0.0
    """expected seconds to stage it on nodes that do not hold it"""


@dataclass(frozen=True, slots=True)
class DataView:
    """Datasets by key, and what a node's cache could take beside what running and gathering gangs need."""

    datasets: Mapping[str, DatasetView] = field(default_factory=dict)
    room_gb: Mapping[int, float] = field(default_factory=dict)
    """node index → GB; nodes whose cache is not known are missing, and are not refused for it"""

    def without_room(self, key: str) -> frozenset[int]:
        """Nodes that neither hold the dataset nor have room for it."""
        dataset = self.datasets.get(key)
        if dataset is None or dataset.size_gb is None:
            return NO_NODES
        size_gb, holders = dataset.size_gb, dataset.holders
        return frozenset(i for i, room in self.room_gb.items() if room < size_gb and i not in holders)

    def holders(self, key: str) -> frozenset[int]:
        dataset = self.datasets.get(key)
        return NO_NODES if dataset is None else dataset.holders

    def stage_s(self, key: str, nodes: Mapping[int, int]) -> float:
        """Expected staging time on these nodes: staged in parallel, so one that lacks it is enough."""
        dataset = self.datasets.get(key)
        if dataset is None or dataset.holders.issuperset(nodes):
            return 0.0
        return dataset.stage_s


@dataclass(frozen=True, slots=True)
class Needs:
    """What one shape asks of nodes."""

    draw_w: float = 0.0
    """W that each of its GPUs adds to a rack's draw"""
    barred: frozenset[int] = NO_NODES
    """nodes it cannot use"""
    near: frozenset[int] = NO_NODES
    """nodes that hold its data: taken first"""
    avoids: frozenset[int] = NO_NODES
    """nodes on which its runs failed: taken last"""


PLAIN = Needs()
