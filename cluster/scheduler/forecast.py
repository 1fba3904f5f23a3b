"""When will each waiting job start? The present queue replayed forward several times, with drawn durations.

Each replay draws how long the runs really take relative to what their owners stated, from a lognormal law
with median 1 (`spread` is the standard deviation of its logarithm). A job's median and 90 % start are taken
over all replays, those in which it did not start counted as "not foreseen": blank rather than wrong.
"""

import math
import random
from dataclasses import dataclass, replace

from cluster.scheduler.ends import work_end
from cluster.scheduler.replay import Replay, Work
from cluster.scheduler.world import JobView, RunView, World

DEFAULT_SPREAD = 0.5
STEP_S = 60.0


@dataclass(frozen=True, slots=True)
class StartForecast:
    """Seconds on the world's clock; None = not foreseen within the horizon."""

    median_s: float | None
    p90_s: float | None
    samples: int


def forecast(
    world: World,
    *,
    samples: int = 8,
    horizon_s: float = 7 * 86400.0,
    most_ticks: int = 400,
    spread: float = DEFAULT_SPREAD,
    seed: int = 0,
) -> dict[int, StartForecast]:
    """Expected starts of all pending jobs by job id. No job arrives meanwhile: later arrivals may change it.

    The first replay takes stated durations as they are; the others draw. `most_ticks` bounds each replay.
    """
    starts: dict[int, list[float]] = {job.id: [] for job in world.pending}
    for sample in range(samples):
        rng = random.Random(f"{seed}:{sample}")
        drawn = 0.0 if sample == 0 else spread
        for job_id, at_s in _one(world, rng, drawn, horizon_s, most_ticks).items():
            starts[job_id].append(at_s)
    return {job_id: _summary(found, samples) for job_id, found in starts.items()}


def _summary(found: list[float], samples: int) -> StartForecast:
    ordered = sorted(found) + [math.inf] * (samples - len(found))
    return StartForecast(_at(ordered, 0.5), _at(ordered, 0.9), samples)


def _at(ordered: list[float], share: float) -> float | None:
    value = ordered[max(0, math.ceil(share * len(ordered)) - 1)]
    return None if math.isinf(value) else value


def _one(
    world: World, rng: random.Random, spread: float, horizon_s: float, most_ticks: int
) -> dict[int, float]:
    """First starts in one replay, by job id."""
    replay = Replay(world.fleet, world.tenants, (), replace(world.policy), tick_s=STEP_S)
    replay.now_s = replay.first_s = world.now_s
    for run in world.runs.values():
        _place(replay, world, run, _factor(rng, spread))
    for job in world.pending:
        if job.admin_hold is None:
            replay.arrivals.append(_work(job, world.now_s, _factor(rng, spread)))
    replay.arrivals = type(replay.arrivals)(sorted(replay.arrivals, key=lambda w: (_due(w, world), w.id)))
    replay.reservations = dict(world.reservations)
    waiting = {w.id: w for w in replay.arrivals}
    for tick, _ in enumerate(replay):
        if tick >= most_ticks or replay.now_s > world.now_s + horizon_s or not replay.pending:
            break
    return {job_id: work.start_s for job_id, work in waiting.items() if work.start_s is not None}


def _due(work: Work, world: World) -> float:
    return max(work.submit_s, world.now_s)


def _factor(rng: random.Random, spread: float) -> float:
    return math.exp(rng.gauss(0.0, spread)) if spread else 1.0


def _work(job: JobView, now_s: float, factor: float) -> Work:
    return Work(
        id=job.id,
        shape=job.shape,
        submit_s=max(job.queued_s, job.not_before_s or job.queued_s) if job.not_before_s else job.queued_s,
        duration_s=max(1.0, job.duration_s * factor),
        expected_s=job.duration_s,
    )


def _place(replay: Replay, world: World, run: RunView, factor: float) -> None:
    """A run that is on its GPUs now; what it still has to do is drawn. One that leaves comes back later."""
    now_s = world.now_s
    ends_s = now_s + (work_end(run, now_s) - now_s) * factor
    work = Work(
        id=-run.id,
        shape=run.shape,
        submit_s=run.queued_s,
        duration_s=ends_s - run.started_s,
        expected_s=max(1.0, run.expected_end_s - run.started_s),
        preemption_budget=run.preemptions_left,
    )
    view = replace(run, id=-run.id, job_id=-run.id)
    replay.place_running(work, view, ends_s, entitled=True)
