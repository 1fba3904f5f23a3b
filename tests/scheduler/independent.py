"""Checks that share no code with the planner: brute force, so that both cannot err alike."""

from collections import Counter
from collections.abc import Iterable, Mapping

from cluster.scheduler.plan import Plan
from cluster.scheduler.verdict import Verdict
from cluster.scheduler.words import Constraint, Locality, Phase, PreemptionRule, Tier
from cluster.scheduler.world import JobView, RunView, Shape, World

Free = Mapping[int, int]
"""node index → GPUs"""


def gang_fits(world: World, shape: Shape, free: Free) -> bool:
    """Is there a node for every member within one domain of the required locality?"""
    domains: dict[object, list[int]] = {}
    for index, node in enumerate(world.fleet.nodes):
        if node.model == shape.model and node.usable:
            place = {
                Locality.NODE: index,
                Locality.BLOCK: node.block,
                Locality.POD: node.pod,
                Locality.CLUSTER: "",
            }[shape.required]
            domains.setdefault(place, []).append(free.get(index, 0))
    asked = sorted((g for count, g in shape.members for _ in range(count)), reverse=True)
    return any(_matches(asked, sorted(room, reverse=True)) for room in domains.values())


def _matches(asked: list[int], room: list[int]) -> bool:
    """Largest member to the node with most room: the best that can be done for distinct nodes."""
    return len(asked) <= len(room) and all(a <= r for a, r in zip(asked, room, strict=False))


def free_after(world: World, plan: Plan) -> Counter[int]:
    """GPUs that nobody holds once the plan's starts are made; negative where a GPU failed under a run."""
    free: Counter[int] = Counter()
    for index, node in enumerate(world.fleet.nodes):
        free[index] = node.gpus if node.usable else 0
    for run in world.runs.values():
        free.subtract({i: g for i, g in run.placement.items() if world.fleet.nodes[i].usable})
    for start in plan.starts:
        free.subtract(start.placement)
    return free


def coming(world: World, runs: Iterable[RunView]) -> Counter[int]:
    """What these runs will give back on nodes that take work."""
    back: Counter[int] = Counter()
    for run in runs:
        back.update({i: g for i, g in run.placement.items() if world.fleet.nodes[i].usable})
    return back


def leaving(world: World) -> list[RunView]:
    return [run for run in world.runs.values() if run.phase is Phase.STOPPING]


def needless_victims(world: World, plan: Plan) -> list[str]:
    """Victims without whom the gang could have been whole too. What others are gathering is left to them."""
    found = []
    jobs = {job.id: job for job in world.pending}
    for job_id in {e.for_job for e in plan.evictions}:
        mine = [
            e for e in plan.evictions if e.for_job == job_id and e.rule is not PreemptionRule.BACKFILL_RETURN
        ]
        everybody = [world.runs[e.run_id] for e in plan.evictions]
        kept_from_it = [r for other, r in plan.reservations.items() if other != job_id]
        for eviction in mine:
            rest = [run for run in everybody if run.id != eviction.run_id]
            room = free_after(world, plan)
            room.update(coming(world, [*leaving(world), *rest]))
            for reservation in kept_from_it:
                room.subtract(reservation.target)
            if gang_fits(world, jobs[job_id].shape, room):
                found.append(f"run {eviction.run_id} is evicted for job {job_id}, which would fit without it")
    return found


def targets_that_stay_empty(world: World, plan: Plan) -> list[str]:
    """Gangs for which runs are sent away, and whose target would not be whole even then."""
    found = []
    for job_id in {e.for_job for e in plan.evictions if e.rule is not PreemptionRule.BACKFILL_RETURN}:
        gone = [world.runs[e.run_id] for e in plan.evictions]
        room = free_after(world, plan)
        room.update(coming(world, [*leaving(world), *gone]))
        for start in plan.starts:
            room.update(start.placement if start.is_backfill else {})  # it gives way
        short = {i: g for i, g in plan.reservations[job_id].target.items() if room[i] < g}
        if short:
            found.append(f"job {job_id} would still lack GPUs on nodes {sorted(short)}")
    return found


def standing(shape: Shape) -> int:
    """0 cannot be sent away, 1 research, 2 best effort."""
    if shape.tier is Tier.PRODUCTION or not shape.preemptible:
        return 0
    return 1 if shape.tier is Tier.RESEARCH else 2


def could_ever_run(world: World, shape: Shape) -> bool:
    """Would this gang start if it were alone on the fleet as it is?"""
    empty = {index: node.gpus for index, node in enumerate(world.fleet.nodes)}
    return gang_fits(world, shape, empty) and _may_use(world, shape)


def _may_use(world: World, shape: Shape) -> bool:
    """By quota, if nothing else ran: within its guarantee, or as a loan within all limits."""
    own = guarantee(world, shape.tenant, shape.model)
    if not world.policy.quotas or shape.gpus <= own:
        return True
    if not world.policy.lending or standing(shape) == 0:
        return False
    name: str | None = shape.tenant
    while name is not None:
        limit = world.tenants[name].borrowing_limit.get(shape.model)
        if limit is not None and shape.gpus > guarantee(world, name, shape.model) + limit:
            return False
        name = world.tenants[name].parent
    return shape.gpus - own <= _lent_by_others(world, shape)


def _lent_by_others(world: World, shape: Shape) -> int:
    above = {tenant.parent for tenant in world.tenants.values()}
    teams = [tenant for tenant in world.tenants.values() if tenant.name not in above]
    lent = 0
    for team in teams:
        limit = team.lending_limit.get(shape.model)
        if team.name != shape.tenant:
            own = guarantee(world, team.name, shape.model)
            lent += own if limit is None else min(own, limit)
    promised = sum(guarantee(world, team.name, shape.model) for team in teams)
    installed = sum(node.gpus for node in world.fleet.nodes if node.model == shape.model)
    return lent + max(0, installed - promised)


def guarantee(world: World, name: str, model: str) -> int:
    """A tenant's own, or that of the tenants below it where it states none."""
    own = world.tenants[name].entitlement.get(model)
    if own is not None:
        return own
    return sum(guarantee(world, t.name, model) for t in world.tenants.values() if t.parent == name)


def wrongly_refused(world: World, plan: Plan) -> list[str]:
    """Jobs refused for quota although they, and all that waits ahead of them, are within their guarantee."""
    if not world.policy.quotas:
        return []
    aside = {job.id for job in world.set_aside}
    jobs = {job.id: job for job in world.pending if job.id not in aside}
    found = []
    for job in jobs.values():
        hold = plan.hold_of(job)
        if hold is None or not any(_is_about_quota(v) for v in hold.verdicts):
            continue
        ahead = [
            other.shape
            for other in jobs.values()
            if other.id != job.id and other.id in plan.own_holds and _same_purse(other.shape, job.shape)
        ]
        softest = max(standing(shape) for shape in (*ahead, job.shape))
        used = _used(world, plan, jobs, job.shape, softest) + sum(shape.gpus for shape in ahead)
        if used + job.shape.gpus <= guarantee(world, job.shape.tenant, job.shape.model):
            found.append(f"job {job.id} is refused for quota with {used} used")
    return found


def _is_about_quota(verdict: Verdict) -> bool:
    about = (Constraint.QUOTA, Constraint.GUARANTEE)
    return not verdict.ok and (verdict.constraint in about or verdict.note == "saving")


def _same_purse(one: Shape, other: Shape) -> bool:
    return (one.tenant, one.model) == (other.tenant, other.model)


def _used(world: World, plan: Plan, jobs: Mapping[int, JobView], shape: Shape, softest: int) -> int:
    """What the tenant's runs and starts use that are no softer than this."""
    held = [run.shape for run in world.runs.values()] + [jobs[s.job_id].shape for s in plan.starts]
    return sum(other.gpus for other in held if _same_purse(other, shape) and standing(other) <= softest)
