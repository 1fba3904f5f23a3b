"""Reservations: which gang gathers how many of its GPUs, when it is expected whole, and its bound."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count

from cluster.models import Allocation, Job, Reservation, ReservationNode
from fleet.models import Gpu


@dataclass(frozen=True)
class Gathering:
    """One open reservation. `free` of its `target` GPUs are free and locked to it already."""

    job: Job
    why: str
    target: int
    free: int
    nodes: int
    created_at: datetime
    ready_at: datetime | None
    bound_at: datetime | None

    @property
    def share(self) -> float:
        return self.free / self.target if self.target else 0.0


def gatherings() -> list[Gathering]:
    """All open reservations, oldest first, in three queries."""
    open_ones = list(
        Reservation.objects.filter(closed_at__isnull=True)
        .select_related("job", "job__tenant", "job__owner", "job__gpu_model")
        .order_by("created_at", "id")
    )
    targets: dict[int, dict[int, int]] = defaultdict(dict)
    rows = ReservationNode.objects.filter(reservation__in=open_ones)
    for reservation_id, node_id, gpus in rows.values_list("reservation_id", "node_id", "gpus"):
        targets[reservation_id][node_id] = gpus
    held = _held({node for nodes in targets.values() for node in nodes})
    return [_gathering(r, targets[r.pk], held) for r in open_ones]


def _held(node_ids: set[int]) -> dict[int, tuple[int, int]]:
    """Node id → (its GPUs, how many of them runs hold)."""
    sizes = _sizes(node_ids)
    open_allocations = Allocation.objects.filter(released_at__isnull=True, node__in=node_ids)
    held = dict(open_allocations.order_by().values_list("node_id").annotate(n=Count("id")))
    return {node_id: (size, held.get(node_id, 0)) for node_id, size in sizes.items()}


def _sizes(node_ids: set[int]) -> dict[int, int]:
    return dict(
        Gpu.objects.filter(node__in=node_ids).order_by().values_list("node_id").annotate(n=Count("id"))
    )


def _gathering(
    reservation: Reservation, target: dict[int, int], held: dict[int, tuple[int, int]]
) -> Gathering:
    free = 0
    for node_id, wanted in target.items():
        size, taken = held.get(node_id, (wanted, 0))
        free += min(wanted, max(0, size - taken))
    return Gathering(
        reservation.job,
        reservation.why,
        sum(target.values()),
        free,
        len(target),
        reservation.created_at,
        reservation.ready_at,
        reservation.bound_at,
    )
