"""When a run is expected to be gone."""

from cluster.scheduler.words import Phase
from cluster.scheduler.world import RunView

OVERRUN_SHARE = 0.25
"""A run past its expected end is expected to go on for this share of the time it has already run."""
LEAST_S = 60.0


def projected_end(run: RunView, now_s: float) -> float:
    """When the run is expected to free its GPUs, in seconds; later than `now_s`."""
    if run.phase is not Phase.STOPPING:
        return work_end(run, now_s)
    free_by_s = run.free_by_s if run.free_by_s is not None else now_s + run.shape.out_s
    return max(min(free_by_s, work_end(run, now_s)), now_s + 1.0)


def work_end(run: RunView, now_s: float) -> float:
    """When its work is expected to be done, in seconds; later than `now_s`."""
    if run.expected_end_s > now_s:
        return run.expected_end_s
    return now_s + max(LEAST_S, OVERRUN_SHARE * (now_s - run.started_s))
