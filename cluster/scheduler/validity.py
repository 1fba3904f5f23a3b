"""Is a plan allowed? Written without any of the planner's own arithmetic, so that both cannot err alike."""

from collections import Counter, defaultdict
from collections.abc import Mapping

from cluster.scheduler.plan import Plan, Start
from cluster.scheduler.policy import Queueing
from cluster.scheduler.words import Locality, Phase, PreemptionRule, Tier
from cluster.scheduler.world import JobView, RunView, World


def violations(world: World, plan: Plan) -> list[str]:
    """Every rule that the plan breaks, in words; empty for a valid plan."""
    jobs = {job.id: job for job in world.pending}
    return [
        *_one_decision_each(world, plan, jobs),
        *_whole_gangs(world, plan, jobs),
        *_no_gpu_twice(world, plan),
        *_power_holds(world, plan, jobs),
        *_data_has_room(world, plan, jobs),
        *_nothing_set_aside_starts(world, plan),
        *_loans_are_preemptible(world, plan, jobs),
        *_victims_are_legal(world, plan, jobs),
        *_reservations_make_sense(world, plan, jobs),
        *_holds_have_reasons(world, plan),
    ]


def plan_is_valid(world: World, plan: Plan) -> bool:
    return not violations(world, plan)


def _one_decision_each(world: World, plan: Plan, jobs: dict[int, JobView]) -> list[str]:
    starts = Counter(start.job_id for start in plan.starts)
    found = [f"job {job_id} is started {n} times" for job_id, n in starts.items() if n > 1]
    found += [f"job {job_id} is started but not pending" for job_id in starts if job_id not in jobs]
    found += [
        f"job {job.id} is neither started nor held"
        for job in jobs.values()
        if job.id not in starts and plan.hold_of(job) is None
    ]
    return found


def _whole_gangs(world: World, plan: Plan, jobs: dict[int, JobView]) -> list[str]:
    found = []
    for start in plan.starts:
        job = jobs.get(start.job_id)
        if job is None:
            continue
        asked = Counter({gpus: 0 for _, gpus in job.shape.members})
        for count, gpus in job.shape.members:
            asked[gpus] += count
        if Counter(start.placement.values()) != asked:
            found.append(f"job {job.id} gets {dict(start.placement)}, asked for {job.shape.members}")
        found += _close_enough(world, job, start)
    return found


def _close_enough(world: World, job: JobView, start: Start) -> list[str]:
    nodes = [world.fleet.nodes[index] for index in start.placement]
    found = [f"job {job.id} is on {n.name}, a {n.model}" for n in nodes if n.model != job.shape.model]
    found += [f"job {job.id} is on {n.name}, which takes no work: {n.why_not}" for n in nodes if not n.usable]
    places = {
        Locality.NODE: {n.name for n in nodes},
        Locality.BLOCK: {n.block for n in nodes},
        Locality.POD: {n.pod for n in nodes},
        Locality.CLUSTER: {""},
    }[job.shape.required]
    if len(places) > 1:
        found.append(f"job {job.id} requires one {job.shape.required} and is spread over {len(places)}")
    return found


def _no_gpu_twice(world: World, plan: Plan) -> list[str]:
    held: Counter[int] = Counter()
    for run in world.runs.values():
        held.update(run.placement)
    started: Counter[int] = Counter()
    for start in plan.starts:
        started.update(start.placement)
    return [
        f"{world.fleet.nodes[i].name}: {held[i]} held + {gpus} started > {world.fleet.nodes[i].gpus}"
        for i, gpus in started.items()
        if held[i] + gpus > world.fleet.nodes[i].gpus
    ]


def _power_holds(world: World, plan: Plan, jobs: dict[int, JobView]) -> list[str]:
    """No start adds to an element that is, or comes to be, over its limit in any required state."""
    grid = world.fleet.power
    if grid is None:
        return []
    drawn: dict[int, float] = defaultdict(float)
    added: dict[int, float] = defaultdict(float)
    for run in world.runs.values():
        for index, gpus in run.placement.items():
            drawn[index] += gpus * run.shape.draw_w
    for start in (s for s in plan.starts if s.job_id in jobs):
        for index, gpus in start.placement.items():
            added[index] += gpus * jobs[start.job_id].shape.draw_w
    found = []
    for limit, base_w in zip(grid.limits, grid.base_w, strict=True):
        share = [limit.share.get(rack, 0.0) for rack in grid.racks]
        more_w = sum(share[i] * w for i, w in added.items())
        total_w = base_w + more_w + sum(share[i] * w for i, w in drawn.items())
        if more_w > 1e-3 and total_w > limit.limit_w + 1e-3:
            found.append(f"{limit.scope} ({limit.state}) would carry {total_w:.0f} W of {limit.limit_w:.0f}")
    return found


def _data_has_room(world: World, plan: Plan, jobs: dict[int, JobView]) -> list[str]:
    """What is to be staged on a node fits into its cache together."""
    coming: dict[int, set[str]] = {}
    for start in (s for s in plan.starts if s.job_id in jobs):
        key = jobs[start.job_id].shape.data
        dataset = world.data.datasets.get(key)
        for index in start.placement if dataset is not None else ():
            if dataset is not None and index not in dataset.holders:
                coming.setdefault(index, set()).add(key)
    found = []
    for index, keys in coming.items():
        size_gb = sum(world.data.datasets[key].size_gb or 0.0 for key in keys)
        room_gb = world.data.room_gb.get(index)
        if room_gb is not None and size_gb > room_gb + 1e-6:
            found.append(f"{world.fleet.nodes[index].name}: {size_gb} GB to stage, room for {room_gb}")
    return found


def _nothing_set_aside_starts(world: World, plan: Plan) -> list[str]:
    aside = {job.id for job in world.set_aside}
    return [f"job {s.job_id} is started although set aside" for s in plan.starts if s.job_id in aside]


def _loans_are_preemptible(world: World, plan: Plan, jobs: dict[int, JobView]) -> list[str]:
    """Beyond a tenant's entitlement only preemptible work may start."""
    if not world.policy.quotas:
        return []
    firm: Counter[tuple[str, str]] = Counter()
    for run in world.runs.values():
        if not _can_leave(run):
            firm[run.shape.tenant, run.shape.model] += run.shape.gpus
    started = set()
    for shape in (jobs[start.job_id].shape for start in plan.starts if start.job_id in jobs):
        if shape.tier is Tier.PRODUCTION or not shape.preemptible:
            firm[shape.tenant, shape.model] += shape.gpus
            started.add((shape.tenant, shape.model))
    found = []
    for tenant, model in started & set(firm):
        entitled = _entitled(world, tenant, model)
        if firm[tenant, model] > entitled:
            found.append(
                f"{tenant} holds {firm[tenant, model]} {model} that cannot be called back, "
                f"entitled to {entitled}"
            )
    return found


def _entitled(world: World, tenant: str, model: str) -> int:
    own = world.tenants[tenant].entitlement.get(model)
    if own is not None:
        return own
    return sum(_entitled(world, t.name, model) for t in world.tenants.values() if t.parent == tenant)


def _can_leave(run: RunView) -> bool:
    return run.shape.preemptible and run.shape.tier is not Tier.PRODUCTION


def _victims_are_legal(world: World, plan: Plan, jobs: dict[int, JobView]) -> list[str]:
    found = []
    twice = Counter(e.run_id for e in plan.evictions)
    found += [f"run {run_id} is evicted {n} times" for run_id, n in twice.items() if n > 1]
    starting = {start.job_id for start in plan.starts}
    for eviction in plan.evictions:
        run = world.runs.get(eviction.run_id)
        if run is None or run.phase is Phase.STOPPING:
            found.append(f"run {eviction.run_id} is evicted but does not run")
            continue
        if not _can_leave(run):
            found.append(f"run {run.id} is evicted but may not be preempted")
        if eviction.for_job not in plan.reservations or eviction.for_job in starting:
            found.append(
                f"run {run.id} is evicted for job {eviction.for_job}, which does not wait for its GPUs"
            )
        found += _rule_holds(world, run, jobs.get(eviction.for_job), eviction.rule)
        target = plan.reservations[eviction.for_job].target if eviction.for_job in plan.reservations else {}
        if not any(index in target for index in run.placement) and not _shares_power(world, run, target):
            found.append(
                f"run {run.id} is evicted but stands on no node that job {eviction.for_job} is to have"
            )
    return found


def _shares_power(world: World, run: RunView, target: Mapping[int, int]) -> bool:
    """Does the run draw on an element that the target needs too?"""
    grid = world.fleet.power
    if grid is None or not run.shape.draw_w:
        return False
    racks = {grid.racks[i] for i in target}
    ours = {grid.racks[i] for i in run.placement}
    return any(racks & limit.share.keys() and ours & limit.share.keys() for limit in grid.limits)


def _rule_holds(world: World, run: RunView, job: JobView | None, rule: PreemptionRule) -> list[str]:
    if job is None:
        return [f"run {run.id} is evicted for a job that does not wait"]
    order = [Tier.PRODUCTION, Tier.RESEARCH, Tier.BEST_EFFORT]
    ours, theirs = order.index(job.shape.tier), order.index(run.shape.tier)
    if rule is PreemptionRule.TIER and ours >= theirs:
        return [f"run {run.id} of tier {run.shape.tier} is preempted by tier {job.shape.tier}"]
    if rule is PreemptionRule.TIER and run.preemptions_left <= 0:
        return [f"run {run.id} is preempted although its budget is used up"]
    if rule is PreemptionRule.BACKFILL_RETURN and not run.is_backfill:
        return [f"run {run.id} is sent away as backfill but is none"]
    if rule is PreemptionRule.RECLAIM:
        tenant, model = run.shape.tenant, run.shape.model
        used = sum(
            r.shape.gpus for r in world.runs.values() if (r.shape.tenant, r.shape.model) == (tenant, model)
        )
        if tenant == job.shape.tenant or used <= _entitled(world, tenant, model):
            return [f"run {run.id} is called back although {tenant} has nothing on loan"]
    return []


def _reservations_make_sense(world: World, plan: Plan, jobs: dict[int, JobView]) -> list[str]:
    found = []
    starting = {start.job_id for start in plan.starts}
    for job_id, reservation in plan.reservations.items():
        if job_id not in jobs or job_id in starting:
            found.append(f"a reservation stands for job {job_id}, which does not wait")
            continue
        asked = sorted(g for count, g in jobs[job_id].shape.members for _ in range(count))
        if sorted(reservation.target.values()) != asked:
            found.append(
                f"the reservation of job {job_id} gathers {sorted(reservation.target.values())}, not {asked}"
            )
    return found


def _holds_have_reasons(world: World, plan: Plan) -> list[str]:
    if world.policy.queueing is Queueing.FIFO and not plan.holds:
        return []
    holds = [*plan.holds.values(), *plan.own_holds.values()]
    return [
        f"a hold of {hold.shape} has no failing verdict" for hold in holds if all(v.ok for v in hold.verdicts)
    ]
