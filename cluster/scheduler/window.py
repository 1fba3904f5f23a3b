"""The joint choice as a small problem: which gangs of the window start together, where, and who gives way.

Aggregated: jobs of one shape are one candidate with a count, nodes of a block that are alike are one class,
and blocks of a pod that look alike are one class of blocks. Nothing here names a node.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from cluster.scheduler.draft import Draft
from cluster.scheduler.plan import Plan
from cluster.scheduler.preemption import Preemption, Victim
from cluster.scheduler.supply import Supply
from cluster.scheduler.words import Locality, PreemptionRule
from cluster.scheduler.world import JobView, Shape, World


@dataclass(frozen=True, slots=True)
class Caps:
    """How much is weighed together in one tick, for each GPU model."""

    shapes: int = 80
    jobs: int = 12
    """of one shape"""
    victims: int = 150
    """runs that may be sent away, the cheapest first"""


UNCAPPED = Caps(sys.maxsize, sys.maxsize, sys.maxsize)

Slot = tuple[int, float, str]
"""What a member takes of a node: (GPUs, W for each of them, dataset)"""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Jobs of one shape, the oldest first."""

    shape: Shape
    jobs: tuple[int, ...]
    waited_s: tuple[float, ...]
    victims: frozenset[int] = frozenset()
    """runs that it may send away"""

    def slots(self) -> Iterable[tuple[int, Slot]]:
        """(members, slot) of one gang."""
        for members, gpus in self.shape.members:
            yield members, (gpus, self.shape.draw_w, self.shape.data)


@dataclass(frozen=True, slots=True)
class NodeClass:
    """Nodes of one block that are alike. `nodes` counts those in each block of the class of blocks."""

    nodes: int
    free: int
    victims: tuple[tuple[int, int], ...] = ()
    """(run, GPUs it would free on each of these nodes)"""
    limits: tuple[tuple[int, float], ...] = ()
    """(power limit, share of a node's draw that it carries)"""
    full_for: frozenset[str] = frozenset()
    """datasets that these nodes have no room for"""

    @property
    def most_free(self) -> int:
        return self.free + sum(gpus for _, gpus in self.victims)


@dataclass(frozen=True, slots=True)
class BlockClass:
    """Blocks of one pod that have the same nodes."""

    pod: str
    blocks: tuple[int, ...]
    """their domain numbers"""
    classes: tuple[NodeClass, ...]


@dataclass(frozen=True, slots=True)
class VictimView:
    """A run that could give way."""

    run_id: int
    gpus: int
    kind: int
    """0 backfill that returns, 1 a loan, 2 partly a loan, 3 within its guarantee"""
    hardness: int
    """0 best effort, 1 research"""
    lost_gpu_hours: float
    frees_w: Mapping[int, float] = field(default_factory=dict)
    """power limit → W"""


@dataclass(frozen=True, slots=True)
class Limit:
    """What a tenant's candidates of one standing may start within its entitlement.

    The firmer ones of tiers before it count as well, but only if any gang of this standing starts: they push
    softer use into a loan.
    """

    members: tuple[int, ...]
    firmer: tuple[int, ...]
    gpus: int
    most: int
    """GPUs that the firmer ones may start if none of this standing does"""


@dataclass(frozen=True, slots=True)
class Problem:
    """One GPU model's choice."""

    model: str
    candidates: tuple[Candidate, ...]
    blocks: tuple[BlockClass, ...]
    limits: tuple[Limit, ...]
    victims: Mapping[int, VictimView] = field(default_factory=dict)
    power_w: tuple[float, ...] = ()
    """W left under each power limit"""
    greedy: tuple[float, ...] = ()
    """what greedy has of each: GPUs started or secured for each tier of the candidates, GPU-hours waited by
    them, guaranteed GPUs preempted (negative), GPU-hours lost (negative)"""


def problems(world: World, greedy: Plan, every: bool = False) -> list[Problem]:
    """The choices that greedy may have got wrong, one for each GPU model; none where there was no choice.

    A gang that does not fit what is free even by itself, with all its victims gone, cannot start whatever
    else is chosen. If greedy has started every entitled gang that can, and sent nobody away, no other choice
    is better. `every`: the choice of each GPU model even so, of the whole queue.
    """
    caps = UNCAPPED if every else Caps()
    draft = Draft(world)
    for job_id in greedy.reservations:
        reservation = world.reservations.get(job_id)
        if reservation is not None:
            claim = draft.books.claim(reservation.job.shape)
            draft.reserve(reservation.job, draft.rank(reservation.job.shape, claim), reservation)
    preemption, room = Preemption(draft), _room(draft)
    reclaimed = {
        world.runs[e.run_id].shape.model
        for e in greedy.evictions
        if e.rule is not PreemptionRule.BACKFILL_RETURN
    }
    waiting = _waiting(world, draft, caps)
    missed = {
        shape.model for shape, jobs in waiting.items() if any(j.id not in greedy.started_ids for j in jobs)
    }
    found = []
    for model in sorted({shape.model for shape in waiting}):
        queue = {shape: jobs for shape, jobs in waiting.items() if shape.model == model}
        if every or model in reclaimed or (model in missed and len(queue) > 1):
            problem = _problem(model, queue, draft, room, _Legal(draft, preemption, caps), greedy, caps)
            if problem.candidates and (every or model in reclaimed or len(problem.candidates) > 1):
                found.append(problem)
    return found


def _room(draft: Draft) -> Supply:
    """What is free, and what is on its way out and not spoken for: a gang may be secured on it."""
    leaving = dict(draft.leaving)
    for job_id in draft.reservations:
        for index, gpus in draft.unfilled(job_id).items():
            leaving[index] = max(0, leaving.get(index, 0) - gpus)
    room = draft.open.copy()
    room.give({index: gpus for index, gpus in leaving.items() if gpus}, draft.leaving_draw)
    return room


def _waiting(world: World, draft: Draft, caps: Caps) -> dict[Shape, list[JobView]]:
    """The entitled that gather nothing yet, by shape."""
    found: dict[Shape, list[JobView]] = {}
    for shape, queue in world.queues.items():
        jobs = [job for job in queue if job.id not in world.reservations][: caps.jobs]
        if jobs and draft.books.claim(shape).entitled:
            found[shape] = jobs
    return found


def _problem(
    model: str,
    queue: Mapping[Shape, Sequence[JobView]],
    draft: Draft,
    room: Supply,
    legal: "_Legal",
    greedy: Plan,
    caps: Caps,
) -> Problem:
    now_s = draft.world.now_s
    ordered = sorted(queue.items(), key=lambda e: (e[0].tier.rank, e[1][0].queued_s, e[1][0].id))
    candidates: list[Candidate] = []
    for shape, jobs in ordered:
        if len(candidates) == caps.shapes:
            break
        victims = legal.of(next((job for job in jobs if job.may_preempt), jobs[0]))
        if not victims and not room.fits(shape.members, shape.model, shape.required):
            continue
        waited = tuple(max(0.0, now_s - job.queued_s) for job in jobs)
        candidates.append(Candidate(shape, tuple(job.id for job in jobs), waited, victims))
    views = legal.views(model)
    keys = {candidate.shape.data for candidate in candidates if candidate.shape.data}
    full = {key: draft.world.data.without_room(key) for key in keys}
    return Problem(
        model,
        tuple(candidates),
        _blocks(draft, room, model, views, full),
        _limits(draft, candidates),
        views,
        tuple(room.power.left_w) if room.power is not None else (),
        _greedy_has(draft.world, candidates, greedy, legal.preemption, model),
    )


def _greedy_has(
    world: World, candidates: Sequence[Candidate], greedy: Plan, preemption: Preemption, model: str
) -> tuple[float, ...]:
    """The values of the solver's levels, as the greedy plan has them within the window."""
    taken = {start.job_id for start in greedy.starts if start.entitled} | greedy.secured
    gpus = {candidate.shape.tier.rank: 0.0 for candidate in candidates}
    waited = 0.0
    for candidate in candidates:
        for job_id, waited_s in zip(candidate.jobs, candidate.waited_s, strict=True):
            if job_id in taken:
                gpus[candidate.shape.tier.rank] += candidate.shape.gpus
                waited += candidate.shape.gpus * (waited_s + 1.0) / 3600.0
    preempted = lost = 0.0
    for eviction in greedy.evictions:
        run = world.runs[eviction.run_id]
        if run.shape.model == model and eviction.rule is not PreemptionRule.BACKFILL_RETURN:
            lost -= eviction.lost_gpu_hours + 1e-3
            if preemption.loans.get(run.id, 0) < run.shape.gpus:
                preempted -= run.shape.gpus * (1 if run.shape.standing > 1 else 2)
    costs = (preempted, lost) if any(c.victims for c in candidates) else ()
    return (*(gpus[rank] for rank in sorted(gpus)), waited, *costs)


class _Legal:
    """Who may send whom away. One answer serves all shapes of a rank and tenant."""

    def __init__(self, draft: Draft, preemption: Preemption, caps: Caps) -> None:
        self.draft, self.preemption, self.most = draft, preemption, caps.victims
        self.known: dict[tuple[object, ...], frozenset[int]] = {}
        self.seen: dict[int, Victim] = {}

    def of(self, job: JobView) -> frozenset[int]:
        if not self.draft.world.policy.preemption:
            return frozenset()
        rank = self.draft.rank(job.shape, self.draft.books.claim(job.shape))
        key = (rank, job.shape.tenant, job.shape.model, job.may_preempt)
        if key not in self.known:
            cheapest = self.preemption.legal(job, rank)[: self.most]
            self.known[key] = frozenset(victim.run.id for victim in cheapest)
            self.seen |= {victim.run.id: victim for victim in cheapest}
        return self.known[key]

    def views(self, model: str) -> dict[int, VictimView]:
        chosen = sorted((v for v in self.seen.values() if v.run.shape.model == model), key=lambda v: v.cost)
        now_s, power = self.draft.world.now_s, self.draft.open.power
        found = {}
        for victim in chosen[: self.most]:
            run, frees_w = victim.run, Counter[int]()
            if power is not None and run.shape.draw_w:
                for index, gpus in run.placement.items():
                    for limit, share in power.grid.of_node[index]:
                        frees_w[limit] += share * gpus * run.shape.draw_w  # type: ignore[assignment]
            found[run.id] = VictimView(
                run.id,
                run.shape.gpus,
                victim.cost[0],
                0 if run.shape.standing > 1 else 1,
                run.lost_gpu_hours(now_s),
                dict(frees_w),
            )
        return found


def _blocks(
    draft: Draft,
    room: Supply,
    model: str,
    victims: Mapping[int, VictimView],
    full: Mapping[str, frozenset[int]],
) -> tuple[BlockClass, ...]:
    fleet, free, power = draft.world.fleet, room.free, room.power
    alike: dict[tuple[str, tuple[NodeClass, ...]], list[int]] = {}
    for block in fleet.at(model, Locality.BLOCK):
        counts: Counter[tuple[object, ...]] = Counter()
        for index in fleet.domain_nodes[block]:
            if not fleet.nodes[index].usable:
                continue
            leaving = tuple(
                (run_id, draft.world.runs[run_id].placement[index])
                for run_id in sorted(draft.holdings.on_node[index])
                if run_id in victims
            )
            if free[index] <= 0 and not leaving:
                continue
            limits = power.grid.of_node[index] if power is not None else ()
            closed = frozenset(key for key, nodes in full.items() if index in nodes)
            counts[max(0, free[index]), leaving, limits, closed] += 1
        if counts:
            pod = fleet.nodes[fleet.domain_nodes[block][0]].pod
            classes = tuple(
                NodeClass(n, *key)  # type: ignore[arg-type]
                for key, n in sorted(counts.items(), key=repr)
            )
            alike.setdefault((pod, classes), []).append(block)
    return tuple(BlockClass(pod, tuple(blocks), classes) for (pod, classes), blocks in alike.items())


def _limits(draft: Draft, window: Sequence[Candidate]) -> tuple[Limit, ...]:
    """A tenant's entitlement less what stands before, for each standing."""
    holders: dict[tuple[str, str], list[int]] = {}
    for index, candidate in enumerate(window):
        holders.setdefault((candidate.shape.tenant, candidate.shape.model), []).append(index)
    limits = []
    for (tenant, model), members in holders.items():
        if not draft.world.policy.quotas or tenant not in draft.world.tenants:
            continue
        most = 0
        for standing in sorted({window[i].shape.standing for i in members}):
            own = tuple(i for i in members if window[i].shape.standing == standing)
            last = min(window[i].shape.tier.rank for i in own)
            before = [i for i in members if window[i].shape.tier.rank < last]
            firmer = tuple(i for i in before if window[i].shape.standing < standing)
            used = draft.books.firm_use(window[own[0]].shape)
            left = max(0, draft.books.entitlement(tenant, model) - used)
            most += left
            limits.append(Limit(own, firmer, left, most))
    return tuple(limits)


def score(world: World, plan: Plan) -> tuple[float, ...]:
    """How good a plan is, as a tuple to compare, lexicographically; more is better.

    For each tier the GPUs of reserved gangs, of entitled ones and of loans that start, or whose victims are
    told to leave; then those that start at once; then GPU-hours waited by all of them; then less preempted
    within guarantees, less work lost, fewer blocks touched.
    """
    jobs: Mapping[int, JobView] = {job.id: job for job in world.pending}
    gpus = [[0.0, 0.0, 0.0] for _ in range(3)]
    at_once = [0.0, 0.0, 0.0]
    waited = blocks = 0.0

    def count(job: JobView, kind: int) -> float:
        gpus[job.shape.tier.rank][kind] += job.shape.gpus
        return job.shape.gpus * (world.now_s - job.queued_s) / 3600.0

    for start in plan.starts:
        job = jobs[start.job_id]
        waited += count(job, 0 if job.id in world.reservations else 1 if start.entitled else 2)
        at_once[job.shape.tier.rank] += job.shape.gpus
        blocks += len({world.fleet.within[index][0] for index in start.placement})
    for job_id in plan.secured:
        waited += count(jobs[job_id], 0 if job_id in world.reservations else 1)
    lost = sum(eviction.lost_gpu_hours for eviction in plan.evictions)
    hard = sum(world.runs[e.run_id].shape.gpus for e in plan.evictions if e.rule is PreemptionRule.TIER)
    return (*(g for tier in gpus for g in tier), *at_once, waited, -hard, -lost, -blocks)
