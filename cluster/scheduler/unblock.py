"""What would unblock a job: the smallest change of each kind, kept only if re-planning starts the job.

Where no single change does, two are tried together: one that mends what binds now, and one that mends what
binds after it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from cluster.scheduler.draft import Draft
from cluster.scheduler.ends import projected_end
from cluster.scheduler.fleet import Fleet, members_of
from cluster.scheduler.planner import plan
from cluster.scheduler.verdict import Verdict, binding
from cluster.scheduler.words import Constraint, Locality, Phase, PreemptionRule, Tier
from cluster.scheduler.world import JobView, RunView, TenantView, World, queues_of

MOST_HINTS = 3
MOST_TRIES = 14
MOST_PAIRS = 8
"""Plans made in search of two changes that help together."""
MOST_PRUNED = 8
"""Up to so many runs or nodes it is worth a plan each to find out which of them do not matter."""
T = TypeVar("T")
Found = tuple["Hint", World]


@dataclass(frozen=True, slots=True)
class Hint:
    """One change after which the job starts, verified by re-planning.

    `data["in_s"]`: 0 if it starts at once, else how long the runs it sends away may take to leave.
    """

    kind: str
    data: Mapping[str, Any]


def unblock(world: World, job: JobView, verdicts: tuple[Verdict, ...]) -> list[Hint]:
    """Up to three verified hints, the ones that mend the binding constraint first."""
    bound = binding(verdicts)
    if bound is None:
        return []
    return _single(world, job, bound) or _pairs(world, job, bound)


def _single(world: World, job: JobView, bound: Verdict) -> list[Hint]:
    hints: list[Hint] = []
    tried = 0
    for kind in _kinds(bound):
        for hint, changed in _WORLDS[kind](world, job, bound):
            tried += 1
            in_s = _starts_in(changed, job.id)
            if in_s is not None:
                hints.append(Hint(hint.kind, {**hint.data, "in_s": in_s}))
                break
            if tried >= MOST_TRIES:
                return hints
        if len(hints) == MOST_HINTS:
            break
    return hints


def _pairs(world: World, job: JobView, bound: Verdict) -> list[Hint]:
    """Two changes together: the first must mend what binds, so that something else does."""
    tried = 0
    for kind in _kinds(bound):
        for first, changed in _steps(kind, world, job, bound):
            tried += 1
            if tried > MOST_PAIRS:
                return []
            now = next((j for j in changed.pending if j.id == job.id), None)
            hold = plan(changed).hold_of(now) if now is not None else None
            after = binding(hold.verdicts) if hold is not None else None
            if now is None or after is None or after.constraint is bound.constraint:
                continue
            second = _single(changed, now, after)
            if second:
                return [Hint("both", {"first": first, "second": second[0], "in_s": second[0].data["in_s"]})]
    return []


def _steps(kind: str, world: World, job: JobView, bound: Verdict) -> Iterator[Found]:
    """The changes of a kind as first steps, not only those that start the job by themselves."""
    if kind in ("smaller", "runs_end", "own_runs_end", "nodes_back", "power"):
        return
    yield from _WORLDS[kind](world, job, bound)


def _starts(world: World, job_id: int) -> bool:
    return job_id in plan(world, explain=False).started_ids


def _starts_in(world: World, job_id: int) -> float | None:
    """Seconds until the job starts, at once or when the runs it sends away have left; None if it does not."""
    decided = plan(world, explain=False)
    if job_id in decided.started_ids:
        return 0.0
    sends_away = any(
        e.for_job == job_id and e.rule is not PreemptionRule.BACKFILL_RETURN for e in decided.evictions
    )
    reservation = decided.reservations.get(job_id)
    if not sends_away or reservation is None or reservation.ready_s is None:
        return None
    return reservation.ready_s - world.now_s


def _kinds(bound: Verdict) -> tuple[str, ...]:
    """Which kinds of change to try, in order, for what binds."""
    capacity = ("topology", "runs_end", "smaller", "nodes_back", "tier", "others_wait")
    return {
        Constraint.NEVER_FITS: ("cooler", "power", "smaller")
        if bound.note == "power"
        else ("topology", "smaller"),
        Constraint.ADMIN_HOLD: ("release",),
        Constraint.START_TIME: ("wait",),
        Constraint.NODE_HEALTH: ("nodes_back", "smaller", "topology"),
        Constraint.QUOTA: ("preemptible", "entitlement", "tier", "smaller", "own_runs_end"),
        Constraint.GUARANTEE: ("entitlement", "tier", "smaller", "runs_end"),
        Constraint.RESERVATION: ("others_wait", "smaller", "preemptible", "tier", "runs_end"),
        Constraint.GANG_SIZE: capacity,
        Constraint.TOPOLOGY: ("start_now", *capacity) if bound.note == "compact" else capacity,
        Constraint.POWER: ("cooler", "power", "runs_end", "smaller", "topology", "tier", "others_wait"),
        Constraint.DATA: ("cache_room", "runs_end", "smaller", "topology"),
        Constraint.DRAINING: ("draining",),
    }.get(bound.constraint, ())


def with_job(world: World, old: JobView, new: JobView) -> World:
    """The world with one pending job changed; its reservation goes, as its target may no longer fit."""
    jobs = [new if job.id == old.id else job for queue in world.queues.values() for job in queue]
    aside = [job for job in world.set_aside if job.id != old.id]
    if all(job.id != new.id for job in jobs):
        jobs.append(new)
    reservations = {k: v for k, v in world.reservations.items() if k != old.id}
    return replace(world, queues=queues_of(jobs), set_aside=aside, reservations=reservations, holdings=None)


def without_runs(world: World, gone: set[int]) -> World:
    runs = {run_id: run for run_id, run in world.runs.items() if run_id not in gone}
    return replace(world, runs=runs, holdings=None)


# the kinds of change


def _release(world: World, job: JobView, bound: Verdict) -> Iterator[Found]:
    yield Hint("release", {}), with_job(world, job, replace(job, admin_hold=None, not_before_s=None))


def _wait(world: World, job: JobView, bound: Verdict) -> Iterator[Found]:
    if job.not_before_s is not None:
        later = replace(world, now_s=job.not_before_s)
        yield (
            Hint("wait", {"until_s": job.not_before_s}),
            with_job(later, job, replace(job, not_before_s=None)),
        )


def _preemptible(world: World, job: JobView, bound: Verdict) -> Iterator[Found]:
    if job.shape.standing > 0:
        return
    tier = Tier.RESEARCH if job.shape.tier is Tier.PRODUCTION else job.shape.tier
    shape = replace(job.shape, preemptible=True, tier=tier)
    yield Hint("preemptible", {"tier": tier.value}), with_job(world, job, replace(job, shape=shape))


def _entitlement(world: World, job: JobView, bound: Verdict) -> Iterator[Found]:
    """More guaranteed GPUs for the tenant: just enough for what it uses and this job."""
    shape = job.shape
    draft = Draft(world)
    if shape.tenant not in world.tenants:
        return
    now = draft.books.entitlement(shape.tenant, shape.model)
    more = draft.books.firm_use(shape) + shape.gpus - now
    if more > 0:
        tenant = world.tenants[shape.tenant]
        raised: TenantView = replace(tenant, entitlement={**tenant.entitlement, shape.model: now + more})
        data = {"tenant": shape.tenant, "model": shape.model, "from_gpus": now, "to_gpus": now + more}
        yield Hint("entitlement", data), replace(world, tenants={**world.tenants, shape.tenant: raised})


def _smaller(world: World, job: JobView, bound: Verdict) -> Iterator[Found]:
    """The largest smaller gang that starts, by halving the range; the gang must make sense for its nodes."""
    node = world.fleet.node_size(job.shape.model) or 1
    unit = node if job.shape.gpus > node else 1
    low, high = 0, (job.shape.gpus - 1) // unit
    best: Found | None = None
    while low < high:
        middle = (low + high + 1) // 2
        gpus = middle * unit
        shape = replace(job.shape, members=members_of(gpus, node))
        changed = with_job(world, job, replace(job, shape=shape))
        if _starts(changed, job.id):
            low, best = middle, (Hint("smaller", {"gpus": gpus}), changed)
        else:
            high = middle - 1
    if best is not None:
        yield best


def _start_now(world: World, job: JobView, bound: Verdict) -> Iterator[Found]:
    """Not wait for a closer set: prefer the whole cluster."""
    shape = replace(job.shape, preferred=Locality.CLUSTER)
    yield Hint("start_now", {}), with_job(world, job, replace(job, shape=shape))


def _cooler(world: World, job: JobView, bound: Verdict) -> Iterator[Found]:
    """The largest draw for each GPU with which it starts: a power cap."""

    def capped(draw_w: float) -> World:
        return with_job(world, job, replace(job, shape=replace(job.shape, draw_w=draw_w)))

    low, high = 0.0, job.shape.draw_w
    if not high or not _starts(capped(0.0), job.id):
        return
    while high - low > max(5.0, 0.01 * job.shape.draw_w):
        middle = (low + high) / 2
        low, high = (middle, high) if _starts(capped(middle), job.id) else (low, middle)
    if low > 0.0:
        yield Hint("cooler", {"from_w": job.shape.draw_w, "to_w": low}), capped(low)


def _power(world: World, job: JobView, bound: Verdict) -> Iterator[Found]:
    """So many watts more on the element that binds."""
    grid = world.fleet.power
    if grid is None or bound.missing is None:
        return
    raised = [
        replace(limit, limit_w=limit.limit_w + bound.missing)
        if (limit.scope, limit.state) == (bound.scope, bound.facts.get("state", "normal"))
        else limit
        for limit in grid.limits
    ]
    data = {"scope": bound.scope, "state": str(bound.facts.get("state", "normal")), "more_w": bound.missing}
    fleet = Fleet(world.fleet.nodes, grid.with_limits(raised))
    yield Hint("power", data), replace(world, fleet=fleet, holdings=None)


def _cache_room(world: World, job: JobView, bound: Verdict) -> Iterator[Found]:
    """As few of the full nodes as it takes to have room for the dataset."""
    dataset = world.data.datasets.get(job.shape.data)
    if dataset is None or dataset.size_gb is None:
        return
    full, size_gb = sorted(world.data.without_room(job.shape.data)), dataset.size_gb

    def emptied(some: Sequence[int]) -> World:
        room = dict(world.data.room_gb) | dict.fromkeys(some, size_gb)
        return replace(world, data=replace(world.data, room_gb=room), holdings=None)

    chosen = _fewest(full, lambda some: _starts(emptied(some), job.id))
    if chosen:
        names = [world.fleet.nodes[i].name for i in chosen]
        yield Hint("cache_room", {"nodes": names, "gb": size_gb}), emptied(chosen)


def _topology(world: World, job: JobView, bound: Verdict) -> Iterator[Found]:
    wider = [Locality.NODE, Locality.BLOCK, Locality.POD, Locality.CLUSTER]
    for level in wider[wider.index(job.shape.required) + 1 :]:
        shape = replace(job.shape, required=level)
        yield Hint("topology", {"locality": level.value}), with_job(world, job, replace(job, shape=shape))


def _tier(world: World, job: JobView, bound: Verdict) -> Iterator[Found]:
    tiers = list(Tier)
    for tier in reversed(tiers[: job.shape.tier.rank]):
        shape = replace(
            job.shape, tier=tier, preemptible=job.shape.preemptible and tier is not Tier.PRODUCTION
        )
        yield Hint("tier", {"tier": tier.value}), with_job(world, job, replace(job, shape=shape))


def _runs_end(world: World, job: JobView, bound: Verdict) -> Iterator[Found]:
    yield from _ends(world, job, lambda run: run.shape.model == job.shape.model)


def _own_runs_end(world: World, job: JobView, bound: Verdict) -> Iterator[Found]:
    yield from _ends(
        world, job, lambda run: run.shape.model == job.shape.model and run.shape.tenant == job.shape.tenant
    )


def _ends(world: World, job: JobView, counts: Callable[[RunView], bool]) -> Iterator[Found]:
    """The runs expected to end first, as few as it takes."""
    runs = sorted((r for r in world.runs.values() if counts(r)), key=lambda r: projected_end(r, world.now_s))
    chosen = _fewest(runs, lambda some: _starts(without_runs(world, {r.id for r in some}), job.id))
    if chosen:
        until = max(projected_end(r, world.now_s) for r in chosen)
        gpus = sum(r.shape.gpus for r in chosen)
        data = {"jobs": [r.job_id for r in chosen], "until_s": until, "gpus": gpus}
        yield Hint("runs_end", data), without_runs(world, {r.id for r in chosen})


def _fewest(items: Sequence[T], enough: Callable[[Sequence[T]], bool]) -> list[T]:
    """The shortest sufficient prefix, without those that do not matter; empty if there is none."""
    low, high = 0, len(items)
    if not items or not enough(items):
        return []
    while high - low > 1:
        middle = (low + high) // 2
        if enough(items[:middle]):
            high = middle
        else:
            low = middle
    chosen = list(items[:high])
    for item in items[: high - 1] if high <= MOST_PRUNED else ():
        fewer = [other for other in chosen if other is not item]
        if enough(fewer):
            chosen = fewer
    return chosen


def _nodes_back(world: World, job: JobView, bound: Verdict) -> Iterator[Found]:
    """As few nodes as it takes to be in service again."""
    out = [i for i, n in enumerate(world.fleet.nodes) if not n.usable and n.model == job.shape.model]
    back = _fewest(out, lambda some: _starts(_in_service(world, some), job.id))
    if back:
        names = [world.fleet.nodes[i].name for i in back]
        yield Hint("nodes_back", {"nodes": names}), _in_service(world, back)


def _in_service(world: World, back: Sequence[int]) -> World:
    nodes = list(world.fleet.nodes)
    for index in back:
        nodes[index] = replace(nodes[index], usable=True, why_not="")
    return replace(world, fleet=Fleet(nodes, world.fleet.power), holdings=None)


def _others_wait(world: World, job: JobView, bound: Verdict) -> Iterator[Found]:
    """If the gangs stood aside that hold reservations, or for which quota is saved, ahead of it."""
    saving = [int(b.id) for b in bound.blockers if b.kind == "job"]
    others = [o for o in dict.fromkeys([*world.reservations, *saving]) if o != job.id]
    if others:
        jobs = [j for queue in world.queues.values() for j in queue if j.id not in others]
        changed = replace(world, reservations={}, queues=queues_of(jobs), holdings=None)
        yield Hint("others_wait", {"jobs": others}), changed


def _draining(world: World, job: JobView, bound: Verdict) -> Iterator[Found]:
    waited_for = {b.id for b in bound.blockers}
    leaving = {
        run.id for run in world.runs.values() if run.phase is Phase.STOPPING and str(run.job_id) in waited_for
    }
    data = {"until_s": bound.until_s, "jobs": [world.runs[r].job_id for r in sorted(leaving)]}
    yield Hint("draining", data), without_runs(world, leaving)


_WORLDS: dict[str, Callable[[World, JobView, Verdict], Iterator[Found]]] = {
    "release": _release,
    "wait": _wait,
    "preemptible": _preemptible,
    "entitlement": _entitlement,
    "smaller": _smaller,
    "topology": _topology,
    "tier": _tier,
    "runs_end": _runs_end,
    "own_runs_end": _own_runs_end,
    "nodes_back": _nodes_back,
    "others_wait": _others_wait,
    "draining": _draining,
    "start_now": _start_now,
    "cooler": _cooler,
    "power": _power,
    "cache_room": _cache_room,
}
