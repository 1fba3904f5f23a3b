"""How many GPUs were in each state over the last hours: means of equal steps, which sum to the installed."""

from bisect import bisect_right
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q

from cluster.models import CapacityState, UsageInterval

MOST_STEPS = 180


@dataclass(frozen=True)
class History:
    """`gpus[state][i]` is the mean number of GPUs in the state during the step that begins at `starts[i]`."""

    starts: list[datetime]
    step: timedelta
    gpus: dict[str, list[float]]

    @property
    def is_empty(self) -> bool:
        return not self.starts


def capacity_history(end: datetime, hours: float, gpu_model: str = "", steps: int = MOST_STEPS) -> History:
    """One query over the usage intervals of the window. It begins no earlier than the first interval."""
    rows = UsageInterval.objects.filter(started_at__lt=end)
    if gpu_model:
        rows = rows.filter(gpu_model__name=gpu_model)
    start = end - timedelta(hours=hours)
    rows = rows.filter(Q(ended_at__isnull=True) | Q(ended_at__gt=start)).order_by()
    intervals = list(rows.values_list("state", "gpus", "started_at", "ended_at"))
    if not intervals:
        return History([], timedelta(0), {})
    start = max(start, min(began for _, _, began, _ in intervals))
    return _average(intervals, start, end, steps)


def _average(
    intervals: list[tuple[str, int, datetime, datetime | None]], start: datetime, end: datetime, steps: int
) -> History:
    """Each interval adds a constant to whole steps (as differences, summed at last), a part at its ends."""
    step = (end - start) / steps
    edges = [start + step * i for i in range(steps)]
    differences = {state: [0.0] * (steps + 1) for state in CapacityState.values}
    parts = {state: [0.0] * steps for state in CapacityState.values}
    for state, gpus, began, ended in intervals:
        first, last = max(began, start), min(ended or end, end)
        if first >= last:
            continue
        i, j = bisect_right(edges, first) - 1, bisect_right(edges, last) - 1
        if i == j:
            parts[state][i] += gpus * ((last - first) / step)
            continue
        parts[state][i] += gpus * ((edges[i] + step - first) / step)
        parts[state][j] += gpus * ((last - edges[j]) / step)
        differences[state][i + 1] += gpus
        differences[state][j] -= gpus
    return History(edges, step, {s: _sum_up(differences[s], parts[s]) for s in CapacityState.values})


def _sum_up(differences: list[float], parts: list[float]) -> list[float]:
    level, values = 0.0, []
    for change, part in zip(differences, parts, strict=False):
        level += change
        values.append(level + part)
    return values
