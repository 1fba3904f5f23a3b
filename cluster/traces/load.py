"""How many GPUs a trace would keep busy if every job ran the moment it was submitted."""

from collections import defaultdict
from collections.abc import Iterable

from cluster.traces.trace import TraceJob

WEEK_S = 7 * 86_400.0


def weekly_load(jobs: Iterable[TraceJob]) -> dict[int, float]:
    """Week after the trace's start → mean GPUs in use over that whole week, were nobody ever to wait."""
    gpu_seconds: dict[int, float] = defaultdict(float)
    for job in jobs:
        at, end = job.submit_s, job.submit_s + job.duration_s
        week = int(at // WEEK_S)
        while at < end:
            until = min(end, (week + 1) * WEEK_S)
            gpu_seconds[week] += (until - at) * job.gpus
            at, week = until, week + 1
    return {week: total / WEEK_S for week, total in sorted(gpu_seconds.items())}


def busiest_week(jobs: Iterable[TraceJob]) -> tuple[int, float]:
    """(week, mean GPUs) of the week with the greatest offered load; (0, 0.0) without jobs."""
    load = weekly_load(jobs)
    if not load:
        return 0, 0.0
    week = max(load, key=lambda w: (load[w], -w))
    return week, load[week]
