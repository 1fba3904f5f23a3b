"""Plan time and optimality at several sizes: greedy, with the solver, and what no plan can exceed."""

import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from cluster.bench.scale_world import MODEL, NODE_GPUS, scale_world
from cluster.scheduler.joint import plan_jointly
from cluster.scheduler.plan import Plan
from cluster.scheduler.planner import Pass
from cluster.scheduler.solver import tier_bounds_gpus, upper_bound_gpus
from cluster.scheduler.validity import violations
from cluster.scheduler.window import problems, score
from cluster.scheduler.words import Tier
from cluster.scheduler.world import JobView, Shape, World, queues_of

NODES = (100, 1250, 12_500)
GANGS = (100, 1000, 10_000)
BOUND_LIMIT_S = 20.0


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds over several worlds of one size."""

    median_s: float
    p95_s: float
    max_s: float

    @classmethod
    def of(cls, values: Iterable[float]) -> "Times":
        ordered = sorted(values)
        return cls(median(ordered), ordered[round(0.95 * (len(ordered) - 1))], ordered[-1])


@dataclass(frozen=True, slots=True)
class Scale:
    """One size. GPUs are those of entitled gangs that start or are secured; None = not asked or no answer."""

    nodes: int
    gangs: int
    shapes: int
    worlds: int
    decide: Times
    """greedy, without explanations"""
    explain: Times
    """every constraint of every held shape spelt out"""
    solve: Times
    """building and solving the integer programmes"""
    whole: Times
    """the plan as a tick makes it: greedy, solver, the solver's plan, checks, explanations"""
    refuse: Times
    """whole, in a world where nothing can start: proving "cannot" """
    greedy_gpus: float
    joint_gpus: float
    bound_gpus: float | None
    """all tiers together, without whole numbers (LP bound)"""
    greedy_gap: float | None
    """part of what is provably not more, tier by tier: 0.01 is 1 %"""
    joint_gap: float | None
    solver_better: int
    """worlds in which the solver's plan was taken"""
    status: str
    variables: int
    constraints: int
    invalid: int
    """plans that broke a rule: 0, or this is a bug"""
    peak_memory_mb: float


def measure_scale(sizes: Sequence[tuple[int, int]], worlds: int, tell: Callable[[str], Any]) -> list[Scale]:
    """One row for each (nodes, gangs)."""
    return [_measure(nodes, gangs, worlds, tell) for nodes, gangs in sizes]


def _measure(nodes: int, gangs: int, worlds: int, tell: Callable[[str], Any]) -> Scale:
    laps: dict[str, list[float]] = {name: [] for name in ("decide", "explain", "solve", "whole", "refuse")}
    gpus: dict[str, list[float]] = {"greedy": [], "joint": [], "bound": []}
    gaps: dict[str, list[float | None]] = {"greedy": [], "joint": []}
    better = invalid = shapes = variables = constraints = 0
    statuses: set[str] = set()
    for seed in range(worlds):
        tell(f"planning {nodes:,} nodes × {gangs:,} gangs, world {seed + 1} of {worlds}")
        world = scale_world(nodes, gangs, seed)
        shapes = len(world.queues)
        greedy, decide_s = _timed(lambda w=world: Pass(w))  # type: ignore[misc]
        plan, more_s = _timed(lambda p=greedy: p.run(explain=False))  # type: ignore[misc]
        laps["decide"].append(decide_s + more_s)
        laps["explain"].append(_timed(lambda p=greedy: p.freeze(explain=True))[1])  # type: ignore[misc]
        joint, whole_s = _timed(lambda w=world: plan_jointly(w))  # type: ignore[misc]
        laps["whole"].append(whole_s)
        laps["solve"].append(sum(solved.seconds for _, solved in joint.solved))
        laps["refuse"].append(_timed(lambda w=world: plan_jointly(_too_large(w)))[1])  # type: ignore[misc]
        invalid += bool(violations(world, joint.plan))
        better += joint.plan.solver == "milp"
        statuses |= {solved.status for _, solved in joint.solved}
        variables = max([variables, *(s.variables for _, s in joint.solved)])
        constraints = max([constraints, *(s.constraints for _, s in joint.solved)])
        gpus["greedy"].append(entitled_gpus(world, plan))
        gpus["joint"].append(entitled_gpus(world, joint.plan))
        bound = _bound(world, plan)
        if bound is not None:
            gpus["bound"].append(bound)
        gaps["greedy"].append(_gap(world, plan, plan))
        gaps["joint"].append(
            gaps["greedy"][-1] if joint.plan.solver != "milp" else _gap(world, plan, joint.plan)
        )
        assert score(world, joint.plan) >= score(world, plan)
    mean = {name: sum(values) / len(values) if values else None for name, values in gpus.items()}
    bound_gpus = mean["bound"] if len(gpus["bound"]) == worlds else None
    greedy_gpus, joint_gpus = mean["greedy"] or 0.0, mean["joint"] or 0.0
    return Scale(
        nodes,
        gangs,
        shapes,
        worlds,
        *(Times.of(laps[name]) for name in ("decide", "explain", "solve", "whole", "refuse")),
        greedy_gpus=greedy_gpus,
        joint_gpus=joint_gpus,
        bound_gpus=bound_gpus,
        greedy_gap=_mean(gaps["greedy"]),
        joint_gap=_mean(gaps["joint"]),
        solver_better=better,
        status=", ".join(sorted(statuses)) or "not needed",
        variables=variables,
        constraints=constraints,
        invalid=invalid,
        peak_memory_mb=peak_memory_mb(),
    )


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    began = time.perf_counter()
    return work(), time.perf_counter() - began


def entitled_gpus(world: World, plan: Plan) -> float:
    """GPUs of entitled gangs that the plan starts, or secures by preemption."""
    jobs = {job.id: job for job in world.pending}
    started = sum(jobs[s.job_id].shape.gpus for s in plan.starts if s.entitled)
    return float(started + sum(jobs[j].shape.gpus for j in plan.secured))


def _bound(world: World, greedy: Plan) -> float | None:
    """The LP bound of the whole entitled queue, no window: None if it took too long."""
    found = [upper_bound_gpus(problem, BOUND_LIMIT_S) for problem in problems(world, greedy, every=True)]
    return None if any(each is None for each in found) else float(sum(each or 0.0 for each in found))


def _gap(world: World, greedy: Plan, plan: Plan) -> float | None:
    """How much of each tier is provably the most beside what the plan has, the firmer tiers as they are."""
    jobs = {job.id: job for job in world.pending}
    have: Counter[int] = Counter()
    for job_id in (*(s.job_id for s in plan.starts if s.entitled), *plan.secured):
        have[jobs[job_id].shape.tier.rank] += jobs[job_id].shape.gpus
    missing = most = 0.0
    for problem in problems(world, greedy, every=True):
        bounds = tier_bounds_gpus(problem, have, BOUND_LIMIT_S)
        if bounds is None:
            return None
        most += sum(bounds.values())
        missing += sum(max(0.0, bound - have[tier]) for tier, bound in bounds.items())
    return missing / most if most else 0.0


def _mean(values: Sequence[float | None]) -> float | None:
    return None if any(each is None for each in values) else sum(each or 0.0 for each in values) / len(values)


def _too_large(world: World) -> World:
    """The same queue, each gang in need of one GPU more than the fleet could ever give it in one place."""
    jobs = [job for queue in world.queues.values() for job in queue]
    most = len(world.fleet.nodes) * NODE_GPUS
    harder: list[JobView] = []
    for number, job in enumerate(jobs):
        shape: Shape = replace(
            job.shape, members=((most // NODE_GPUS + 1 + number % 7, NODE_GPUS),), tier=Tier.RESEARCH
        )
        harder.append(replace(job, shape=shape))
    return replace(world, queues=queues_of(harder))


def peak_memory_mb() -> float:
    """Of this process, all that came before included."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024.0 * 1024.0 if sys.platform == "darwin" else 1024.0)


__all__ = ["GANGS", "MODEL", "NODES", "Scale", "Times", "entitled_gpus", "measure_scale"]
