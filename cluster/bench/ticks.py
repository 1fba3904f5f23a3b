"""Tick time on a large cluster, step by step, through the database and the real loop."""

import resource
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Any

from cluster.bench.scene import Load, build
from cluster.engines.registry import get_engine
from cluster.engines.simulated import pin_clock
from cluster.models import Allocation, Job, JobState, Run, RunState
from cluster.pipeline.observe import observe
from cluster.pipeline.tick import Stopwatch, run_tick
from cluster.scheduler.planner import plan

BEGIN = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
WARM_UP_TICKS = 20
"""after them gangs start and end, are preempted, and gather"""
EVERY = timedelta(seconds=60)
STEPS = ("listen", "observe", "decide", "explain", "apply", "account", "carry_out")


@dataclass(frozen=True, slots=True)
class Spread:
    """Milliseconds over several ticks."""

    median_ms: float
    p95_ms: float
    max_ms: float

    @classmethod
    def of(cls, values: Iterable[float]) -> "Spread":
        ordered = sorted(values)
        return cls(median(ordered), ordered[round(0.95 * (len(ordered) - 1))], ordered[-1])


@dataclass(frozen=True, slots=True)
class TickTimes:
    nodes: int
    gpus: int
    allocated_gpus: int
    queued_gangs: int
    queued_shapes: int
    running_gangs: int
    starts: int
    preemptions: int
    ticks: int
    first_tick_ms: float
    """the one that fills the empty cluster"""
    steps: dict[str, Spread]
    whole: Spread
    cpu: Spread
    """processor time of a whole tick: what is left of `whole` when nothing else runs on the machine"""
    peak_memory_mb: float


Tell = Callable[[str], Any]


def measure_ticks(nodes: int, queued: int, ticks: int, tell: Tell) -> TickTimes:
    """Fill the cluster, let it run in, then measure so many ticks, each with a full queue."""
    tell(f"building {nodes:,} nodes")
    pin_clock(BEGIN)
    load = build(nodes, BEGIN)
    at = BEGIN
    load.fill_queue(queued, at)
    tell("the first tick fills the empty cluster")
    first_ms = sum(_tick(at).laps_ms.values())
    for number in range(WARM_UP_TICKS):
        tell(f"running in, tick {number + 1} of {WARM_UP_TICKS}")
        at = _next(load, queued, at)
        _tick(at)
    laps: list[dict[str, float]] = []
    cpu_ms: list[float] = []
    began = at
    for number in range(ticks):
        tell(f"measuring, tick {number + 1} of {ticks}")
        at = _next(load, queued, at)
        decide_ms = _decide_alone(at)
        cpu_s = time.process_time()
        laps.append(_split(_tick(at).laps_ms, decide_ms))
        cpu_ms.append((time.process_time() - cpu_s) * 1000.0)
    return _result(laps, cpu_ms, first_ms, began)


def _next(load: Load, queued: int, at: datetime) -> datetime:
    pin_clock(at + EVERY)
    load.fill_queue(queued, at + EVERY)
    return at + EVERY


def _tick(at: datetime) -> Stopwatch:
    watch = Stopwatch()
    pin_clock(at)
    tick = run_tick(get_engine(), watch=watch)
    assert tick is not None, "nobody else holds the lease of a throw-away database"
    return watch


def _decide_alone(at: datetime) -> float:
    """What planning costs without the reasons of the held: the rest of a tick's planning explains."""
    world = observe(at).world
    began = time.perf_counter()
    plan(world, explain=False)
    return (time.perf_counter() - began) * 1000.0


def _split(ms: dict[str, float], decide_ms: float) -> dict[str, float]:
    decide = min(decide_ms, ms["plan"])
    return {**{k: v for k, v in ms.items() if k != "plan"}, "decide": decide, "explain": ms["plan"] - decide}


def _result(laps: list[dict[str, float]], cpu_ms: list[float], first_ms: float, began: datetime) -> TickTimes:
    world = observe(began).world
    since = Run.objects.filter(planned_at__gt=began)
    return TickTimes(
        nodes=len(world.fleet.nodes),
        gpus=sum(world.fleet.installed_gpus.values()),
        allocated_gpus=Allocation.objects.filter(released_at=None).count(),
        queued_gangs=Job.objects.filter(state=JobState.PENDING).count(),
        queued_shapes=len(world.queues),
        running_gangs=Run.objects.exclude(state=RunState.ENDED).count(),
        starts=since.count(),
        preemptions=Run.objects.filter(preemption__signalled_at__gt=began).count(),
        ticks=len(laps),
        first_tick_ms=first_ms,
        steps={step: Spread.of(lap[step] for lap in laps) for step in STEPS},
        whole=Spread.of(sum(lap.values()) for lap in laps),
        cpu=Spread.of(cpu_ms),
        peak_memory_mb=peak_memory_mb(),
    )


def peak_memory_mb() -> float:
    """Of this process, all that came before included."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024.0 * 1024.0 if sys.platform == "darwin" else 1024.0)
