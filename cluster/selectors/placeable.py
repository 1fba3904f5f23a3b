"""How many gangs of a named shape fit now: free GPUs alone do not say, a gang needs whole nodes."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Count, Q

from cluster.models import Allocation, ReservationNode
from fleet.models import Node, NodeState

SHAPES = (8, 64, 256)
"""GPUs of the gangs that the page answers for."""


@dataclass(frozen=True)
class FreeNode:
    """A node that takes work, with what is free on it and what a reservation keeps of that."""

    name: str
    model: str
    block: str
    pod: str
    gpus: int
    free: int


@dataclass(frozen=True)
class ShapeFit:
    """How many gangs of `gpus` GPUs would fit side by side now: anywhere, and each within one block."""

    model: str
    gpus: int
    nodes: int
    anywhere: int
    in_one_block: int
    largest_block_gpus: int
    """GPUs on whole free nodes of the block that has most of them."""


def free_nodes() -> list[FreeNode]:
    """Every node that takes work. Three queries. GPUs that a gathering gang keeps are not free to others."""
    healthy = Count("gpus", filter=Q(gpus__state=NodeState.ELIGIBLE))
    nodes = (
        Node.objects.filter(state=NodeState.ELIGIBLE, drain_asked_at__isnull=True)
        .order_by("name")
        .annotate(healthy=healthy)
        .values_list("pk", "name", "gpu_model__name", "block__name", "block__pod__name", "healthy")
    )
    held = dict(
        Allocation.objects.filter(released_at__isnull=True, gpu__state=NodeState.ELIGIBLE)
        .order_by()
        .values_list("node_id")
        .annotate(n=Count("id"))
    )
    kept = kept_gpus()
    return [
        FreeNode(name, model, block, pod, gpus, max(0, gpus - held.get(pk, 0) - kept.get(pk, 0)))
        for pk, name, model, block, pod, gpus in nodes
    ]


def kept_gpus() -> dict[int, int]:
    """Node id → GPUs that open reservations want there, and that no run holds any more."""
    rows = ReservationNode.objects.filter(reservation__closed_at__isnull=True)
    kept: dict[int, int] = defaultdict(int)
    for node_id, gpus in rows.values_list("node_id", "gpus"):
        kept[node_id] += gpus
    return dict(kept)


def fits(nodes: Iterable[FreeNode], shapes: Sequence[int] = SHAPES) -> list[ShapeFit]:
    """For each GPU model and shape, how many gangs fit. Pure."""
    by_model: dict[str, list[FreeNode]] = defaultdict(list)
    for node in nodes:
        by_model[node.model].append(node)
    return [_fit(model, gpus, by_model[model]) for model in sorted(by_model) for gpus in shapes]


def _fit(model: str, gpus: int, nodes: Sequence[FreeNode]) -> ShapeFit:
    size = max(node.gpus for node in nodes)
    blocks: dict[str, list[int]] = defaultdict(list)
    for node in nodes:
        blocks[node.block].append(node.free)
    largest = max(sum(1 for free in row if free >= size) for row in blocks.values()) * size
    anywhere = _side_by_side(gpus, size, [node.free for node in nodes])
    in_one_block = sum(_side_by_side(gpus, size, row) for row in blocks.values())
    return ShapeFit(model, gpus, -(-gpus // size), anywhere, in_one_block, largest)


def _side_by_side(gpus: int, size: int, free: Sequence[int]) -> int:
    """How many gangs of whole nodes and one part of a node fit at once, as the planner cuts them up."""
    whole, part = divmod(gpus, size)
    open_nodes = sum(1 for each in free if each >= size)
    if not part:
        return open_nodes // whole
    parts_a_node = size // part
    beside = sum(each // part for each in free if each < size)
    # n gangs leave (open_nodes - n × whole) nodes, which must take what does not fit beside.
    most = (beside + open_nodes * parts_a_node) // (1 + whole * parts_a_node)
    return min(most, open_nodes // whole) if whole else most
