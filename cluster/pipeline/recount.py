"""Count usage a second time, from the allocations alone: what the books say must be what was held."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Model, Q

from cluster.models import Allocation, Run, Tick, UsageInterval

MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Drift:
    """A run whose usage intervals and allocations disagree. GPU-seconds."""

    run: Run
    booked_gpu_s: float
    held_gpu_s: float

    def __str__(self) -> str:
        return f"{self.run}: {self.booked_gpu_s:,.3f} GPU-seconds booked, {self.held_gpu_s:,.3f} held"


def drifts(since: datetime) -> list[Drift]:
    """The runs that held GPUs at or after `since` and whose two counts differ, to the microsecond."""
    last = Tick.objects.order_by("-number").first()
    if last is None:
        return []
    recent = Allocation.objects.filter(Q(released_at=None) | Q(released_at__gte=since))
    runs = Run.objects.filter(pk__in=recent.values("run_id"))
    held = _sum(((a.run_id, 1, a.started_at, a.released_at) for a in _of(Allocation, runs)), until=last.now)
    booked = _sum(
        ((u.run_id, u.gpus, u.started_at, u.ended_at) for u in _of(UsageInterval, runs)), until=last.now
    )
    return [
        Drift(run, booked[run.pk] / 1e6, held[run.pk] / 1e6)
        for run in runs.select_related("job").order_by("pk")
        if booked[run.pk] != held[run.pk]
    ]


def _of(model: type[Model], runs: object) -> Iterable[Model]:
    return model._default_manager.filter(run__in=runs).order_by().iterator(2000)


def _sum(stretches: Iterable[tuple[int, int, datetime, datetime | None]], until: datetime) -> dict[int, int]:
    """GPU-microseconds by run."""
    total: dict[int, int] = defaultdict(int)
    for run_id, gpus, start, end in stretches:
        total[run_id] += gpus * max(0, (min(end or until, until) - start) // MICROSECOND)
    return total
