"""The joint choice as a small problem: which gangs of the window can start together on what is free.

Aggregated: jobs of one shape are one candidate with a count, nodes of a block with the same number of free
GPUs are one class, and blocks of a pod that look alike are one class of blocks. Nothing here names a node.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cluster.scheduler.draft import Draft
from cluster.scheduler.plan import Plan
from cluster.scheduler.supply import Supply
from cluster.scheduler.words import Locality
from cluster.scheduler.world import JobView, Shape, World

MOST_SHAPES = 80
"""Shapes of one GPU model that are weighed against one another in one tick."""
MOST_JOBS = 12
"""Jobs of one shape that are."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Jobs of one shape, the oldest first."""

    shape: Shape
    jobs: tuple[int, ...]
    waited_s: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class BlockClass:
    """Blocks of one pod that have the same free nodes."""

    pod: str
    blocks: int
    free: tuple[int, ...]
    """free[k] = nodes with exactly k GPUs free, in each of the blocks"""


@dataclass(frozen=True, slots=True)
class Limit:
    """Together these candidates may start at most so many GPUs: a tenant's entitlement."""

    members: tuple[int, ...]
    gpus: int


@dataclass(frozen=True, slots=True)
class Problem:
    """One GPU model's choice."""

    model: str
    candidates: tuple[Candidate, ...]
    blocks: tuple[BlockClass, ...]
    limits: tuple[Limit, ...]


def problems(world: World, greedy: Plan) -> list[Problem]:
    """The choices that greedy may have got wrong, one for each GPU model; none where there was no choice.

    A gang that does not fit what is free even by itself cannot start whatever else is chosen. If greedy has
    started every entitled gang that can, no other choice starts more.
    """
    draft = Draft(world)
    for job_id in greedy.reservations:
        reservation = world.reservations.get(job_id)
        if reservation is not None:
            claim = draft.books.claim(reservation.job.shape)
            draft.reserve(reservation.job, draft.rank(reservation.job.shape, claim), reservation)
    by_model: dict[str, list[Candidate]] = {}
    missed: set[str] = set()
    for shape, queue in world.queues.items():
        waiting = [job for job in queue if job.id not in world.reservations][:MOST_JOBS]
        if not waiting or not _may_compete(draft, shape):
            continue
        by_model.setdefault(shape.model, []).append(_candidate(shape, waiting, world.now_s))
        if any(job.id not in greedy.started_ids for job in waiting):
            missed.add(shape.model)
    return [
        Problem(model, _window(candidates), _blocks(draft.open, model), _limits(draft, _window(candidates)))
        for model, candidates in by_model.items()
        if model in missed and len(candidates) > 1
    ]


def _may_compete(draft: Draft, shape: Shape) -> bool:
    """Entitled, and would fit if it were alone."""
    return draft.books.claim(shape).entitled and draft.open.fits(shape.members, shape.model, shape.required)


def _candidate(shape: Shape, waiting: Sequence[JobView], now_s: float) -> Candidate:
    return Candidate(
        shape, tuple(j.id for j in waiting), tuple(max(0.0, now_s - j.queued_s) for j in waiting)
    )


def _window(candidates: list[Candidate]) -> tuple[Candidate, ...]:
    """The first by tier and age, as the queue stands."""
    ordered = sorted(candidates, key=lambda c: (c.shape.tier.rank, -c.waited_s[0], c.jobs[0]))
    return tuple(ordered[:MOST_SHAPES])


def _blocks(supply: Supply, model: str) -> tuple[BlockClass, ...]:
    fleet, width = supply.fleet, supply.width
    alike: dict[tuple[str, tuple[int, ...]], int] = {}
    for block in fleet.at(model, Locality.BLOCK):
        free = tuple(supply.counts[block * width : (block + 1) * width])
        if supply.total[block]:
            pod = fleet.nodes[fleet.domain_nodes[block][0]].pod
            alike[pod, free] = alike.get((pod, free), 0) + 1
    return tuple(BlockClass(pod, count, free) for (pod, free), count in alike.items())


def _limits(draft: Draft, window: Sequence[Candidate]) -> tuple[Limit, ...]:
    """A tenant's entitlement less what stands before: for each standing, the firmer ones count as well."""
    holders: dict[tuple[str, str], list[int]] = {}
    for index, candidate in enumerate(window):
        holders.setdefault((candidate.shape.tenant, candidate.shape.model), []).append(index)
    limits = []
    for (tenant, model), members in holders.items():
        if not draft.world.policy.quotas or tenant not in draft.world.tenants:
            continue
        for standing in sorted({window[i].shape.standing for i in members}):
            firm = tuple(i for i in members if window[i].shape.standing <= standing)
            example = window[next(i for i in members if window[i].shape.standing == standing)].shape
            left = draft.books.entitlement(tenant, model) - draft.books.firm_use(example)
            limits.append(Limit(firm, max(0, left)))
    return tuple(limits)


def score(world: World, plan: Plan) -> tuple[float, ...]:
    """How good a plan is, as a tuple to compare, lexicographically; more is better.

    For each tier the GPUs of reserved gangs, of entitled ones and of loans that start; then GPU-hours
    waited by what starts; then less lost by preemption; then fewer blocks touched.
    """
    jobs: Mapping[int, JobView] = {job.id: job for job in world.pending}
    gpus = [[0.0, 0.0, 0.0] for _ in range(3)]
    waited = blocks = 0.0
    for start in plan.starts:
        job = jobs[start.job_id]
        kind = 0 if job.id in world.reservations else 1 if start.entitled else 2
        gpus[job.shape.tier.rank][kind] += job.shape.gpus
        waited += job.shape.gpus * (world.now_s - job.queued_s) / 3600.0
        blocks += len({world.fleet.within[index][0] for index in start.placement})
    lost = sum(eviction.lost_gpu_hours for eviction in plan.evictions)
    return (*(g for tier in gpus for g in tier), waited, -lost, -blocks)
