"""What a replay is judged by. Times in seconds, work in GPU-hours; None where nothing could be measured."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from math import ceil
from statistics import fmean, median
from typing import Any

from cluster.scheduler.replay import Replay, Work
from cluster.scheduler.words import PreemptionRule

SIZE_CLASSES = ((1, 1), (2, 8), (9, 32), (33, 128), (129, None))


@dataclass(frozen=True, slots=True)
class Waits:
    """From submission to first start, of the jobs that started."""

    jobs: int
    never_started: int
    mean_s: float | None
    median_s: float | None
    p95_s: float | None
    longest_s: float | None


@dataclass(frozen=True, slots=True)
class Metrics:
    """One replay in numbers. Shares are of all installed GPUs over the time in which jobs were submitted."""

    jobs: int
    gpu_hours: float
    """asked for by all jobs, were nothing ever lost"""
    installed_gpus: int
    window_s: float
    """from the first to the last submission"""
    allocated_share: float | None
    busy_share: float | None
    """allocated, without starting, restarting and the way out after a signal"""
    wait: Waits
    wait_by_size: dict[str, Waits]
    largest_gang_gpus: int
    largest_gang: Waits
    preemptions: dict[str, int]
    lost_gpu_hours: float
    """work done again because of preemptions, with the restarts"""
    loans_made: int
    loans_reclaimed: int
    loan_gpu_hours: float
    done_s: float
    """from the first submission until the last job had ended"""
    queue_peak: int
    ticks: int
    seconds: float

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def waits(works: Sequence[Work]) -> Waits:
    started = sorted(work.start_s - work.submit_s for work in works if work.start_s is not None)
    never = len(works) - len(started)
    if not started:
        return Waits(0, never, None, None, None, None)
    p95_s = started[ceil(0.95 * len(started)) - 1]
    return Waits(len(started), never, fmean(started), median(started), p95_s, started[-1])


def size_class(least: int, most: int | None) -> str:
    if most is None:
        return f"over {least - 1}"
    return str(least) if least == most else f"{least}-{most}"


def by_size(works: Sequence[Work]) -> dict[str, Waits]:
    """Waits by GPUs of the gang; classes without jobs are left out."""
    found = {}
    for least, most in SIZE_CLASSES:
        of_class = [w for w in works if least <= w.shape.gpus and (most is None or w.shape.gpus <= most)]
        if of_class:
            found[size_class(least, most)] = waits(of_class)
    return found


@dataclass(slots=True)
class Window:
    """GPU-seconds held up to the last submission: the tail that only empties the cluster says nothing."""

    first_s: float
    last_s: float
    allocated_gpu_s: float | None = None
    overhead_gpu_s: float = 0.0
    _seen: bool = field(default=False)

    def look(self, replay: Replay) -> None:
        """To be called after each tick; the first one at or after the last submission counts."""
        if self._seen or replay.now_s < self.last_s:
            return
        self._seen = True
        running = sum(
            max(0.0, self.last_s - live.view.started_s) * live.view.shape.gpus
            for live in replay.live.values()
        )
        self.allocated_gpu_s = replay.counts.allocated_gpu_s + running
        self.overhead_gpu_s = replay.counts.overhead_gpu_s + _ways_out(replay)


def _ways_out(replay: Replay) -> float:
    """GPU-seconds between checkpoint signals and free GPUs, of all preemptions so far."""
    return sum(work.preemptions * work.shape.out_s * work.shape.gpus for work in replay.works.values())


def measure(replay: Replay, window: Window, installed_gpus: int, seconds: float) -> Metrics:
    works = list(replay.works.values())
    span_s = window.last_s - window.first_s
    capacity = installed_gpus * span_s
    held = window.allocated_gpu_s
    largest = max((work.shape.gpus for work in works), default=0)
    ends = [work.end_s for work in works if work.end_s is not None]
    counts = replay.counts
    return Metrics(
        jobs=len(works),
        gpu_hours=sum(work.duration_s * work.shape.gpus for work in works) / 3600,
        installed_gpus=installed_gpus,
        window_s=span_s,
        allocated_share=held / capacity if held is not None and capacity else None,
        busy_share=(held - window.overhead_gpu_s) / capacity if held is not None and capacity else None,
        wait=waits(works),
        wait_by_size=by_size(works),
        largest_gang_gpus=largest,
        largest_gang=waits([work for work in works if work.shape.gpus == largest]),
        preemptions={rule.value: counts.preemptions.get(rule.value, 0) for rule in PreemptionRule},
        lost_gpu_hours=counts.lost_gpu_s / 3600,
        loans_made=counts.loans,
        loans_reclaimed=counts.preemptions.get(PreemptionRule.RECLAIM.value, 0),
        loan_gpu_hours=counts.loan_gpu_s / 3600,
        done_s=max(ends, default=window.first_s) - window.first_s,
        queue_peak=counts.queue_peak,
        ticks=counts.ticks,
        seconds=seconds,
    )
