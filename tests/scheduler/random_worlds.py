"""Random worlds for property tests: mixed fleets, nested tenants with limits, runs in any phase.

Nothing here knows the planner's rules. A world may be one that our own planner would never have made (runs
spread over pods, guarantees that were cut since), because a planner must cope with what it finds.

Only the size of a world shrinks: what is in it comes from a seeded generator, which is many times faster.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from hypothesis import strategies as st

from cluster.scheduler.fleet import Fleet, NodeView, members_of
from cluster.scheduler.needs import DatasetView, DataView
from cluster.scheduler.policy import Policy
from cluster.scheduler.power import PowerGrid, PowerLimit
from cluster.scheduler.replay import Work
from cluster.scheduler.spread import Objective
from cluster.scheduler.words import Locality, Phase, Tier
from cluster.scheduler.world import JobView, ReservationView, RunView, Shape, TenantView, World, queues_of

NOW_S = 10_000.0
MODELS = ("h100", "a100")
SEEDS = st.integers(0, 2**32)


def any_fleet(rng: Random, most_nodes: int = 7, all_usable: bool = False) -> Fleet:
    """One or two GPU models, nodes of unequal size in blocks and pods, some of them out of service."""
    nodes: list[NodeView] = []
    for model in rng.choice((MODELS[:1], MODELS)):
        size = rng.choice((1, 2, 4, 8))
        per_block, per_pod = rng.randint(1, 3), rng.randint(1, 2)
        for i in range(rng.randint(1, most_nodes)):
            gpus = rng.choice((size, size, size, max(1, size // 2), size - 1))
            usable = all_usable or rng.choice((True, True, True, True, False))
            block = i // per_block
            nodes.append(
                NodeView(
                    name=f"{model}-{i}",
                    model=model,
                    gpus=gpus,
                    block=f"block{block}",
                    pod=f"pod{block // per_pod}",
                    usable=usable,
                    why_not="" if usable else "repair",
                )
            )
    return Fleet(nodes)


def any_tenants(rng: Random, fleet: Fleet) -> dict[str, TenantView]:
    """Teams, some of them below an organisation; guarantees may exceed what is installed."""
    limits = (None, None, None, 0, 2, 8)
    found: dict[str, TenantView] = {}
    organisation = rng.choice((None, "lab"))
    for name in ["t0", "t1", "t2"][: rng.randint(1, 3)]:
        found[name] = TenantView(
            name,
            parent=rng.choice((None, organisation)),
            weight=rng.choice((0.0, 1.0, 1.0, 3.0)),
            entitlement={m: rng.randint(0, gpus) for m, gpus in fleet.installed_gpus.items()},
            lending_limit={m: rng.choice(limits) for m in fleet.installed_gpus},
            borrowing_limit={m: rng.choice(limits) for m in fleet.installed_gpus},
        )
    if organisation:
        found[organisation] = TenantView(
            organisation, borrowing_limit={m: rng.choice(limits) for m in fleet.installed_gpus}
        )
    return found


def teams(found: Mapping[str, TenantView]) -> list[str]:
    """The tenants that submit jobs."""
    above = {tenant.parent for tenant in found.values()}
    return [name for name in found if name not in above and name != "lab"]


def any_members(rng: Random, fleet: Fleet, model: str) -> tuple[tuple[int, int], ...]:
    """A gang in numbers: plain, spread equally over nodes, or of two sizes."""
    size = max(1, fleet.node_size(model))
    match rng.choice(("plain", "plain", "spread", "mixed")):
        case "plain":
            return members_of(rng.randint(1, 3 * size), size)
        case "spread":
            return ((rng.randint(1, 3), rng.randint(1, size)),)
    large = rng.randint(1, size)
    small = rng.randint(1, large)
    both = ((rng.randint(1, 2), large), (rng.randint(1, 2), small))
    return both if small < large else ((both[0][0] + both[1][0], large),)


def any_shape(rng: Random, fleet: Fleet, names: Sequence[str]) -> Shape:
    tier = rng.choice(list(Tier))
    model = rng.choice(sorted(fleet.installed_gpus))
    return Shape(
        tenant=rng.choice(names),
        tier=tier,
        model=model,
        members=any_members(rng, fleet, model),
        required=rng.choice((Locality.CLUSTER, Locality.CLUSTER, *Locality)),
        preemptible=tier is Tier.BEST_EFFORT or (tier is Tier.RESEARCH and rng.random() < 0.5),
        out_s=rng.choice((0.0, 60.0, 300.0)),
    )


def any_policy(rng: Random) -> Policy:
    return Policy(
        quotas=rng.choice((True, True, True, False)),
        lending=rng.choice((True, True, True, False)),
        preemption=rng.choice((True, True, True, False)),
        reserve_after_s=rng.choice((0.0, 300.0)),
        reservations_per_model=rng.randint(1, 3),
        least_backfill_s=rng.choice((0.0, 600.0)),
        search_budget=rng.choice((64, 64, 64, 1, 0)),
    )


def any_world(rng: Random, size: int) -> World:
    """Any snapshot at all."""
    fleet = any_fleet(rng, most_nodes=2 + size)
    found = any_tenants(rng, fleet)
    known = [any_shape(rng, fleet, teams(found)) for _ in range(rng.randint(1, 6))]
    jobs = [
        JobView(
            id=100 + number,
            shape=rng.choice(known),
            queued_s=NOW_S - rng.choice((0.0, 10.0, 400.0, 1000.0)),
            duration_s=rng.choice((1.0, 200.0, 3600.0)),
            may_preempt=rng.choice((True, True, True, False)),
        )
        for number in range(rng.randint(0, 1 + size))
    ]
    aside = [
        JobView(200, known[0], NOW_S - 5.0, 60.0, admin_hold="asked by its owner"),
        JobView(201, known[-1], NOW_S - 5.0, 60.0, not_before_s=NOW_S + 60.0, not_before_why="backoff"),
    ][: rng.randint(0, 2)]
    return World(
        now_s=NOW_S,
        fleet=worn(rng, fleet),
        tenants=found,
        queues=queues_of(jobs),
        runs=any_runs(rng, fleet, known, [job.id for job in jobs], most=2 * size),
        set_aside=aside,
        reservations=any_reservations(rng, fleet, jobs),
        policy=any_policy(rng),
    )


def worn(rng: Random, fleet: Fleet) -> Fleet:
    """The fleet after some GPUs have failed, perhaps under a run: `gpus` counts the healthy ones."""
    lost = rng.choice((0, 0, 0, 1, 2))
    worst = rng.randint(0, len(fleet.nodes) - 1)
    return Fleet(
        replace(node, gpus=max(0, node.gpus - lost)) if index == worst else node
        for index, node in enumerate(fleet.nodes)
    )


def any_runs(
    rng: Random, fleet: Fleet, known: Sequence[Shape], waiting: Sequence[int], most: int
) -> dict[int, RunView]:
    """Runs that stand wherever there was room, on nodes out of service too."""
    free = [node.gpus for node in fleet.nodes]
    found: dict[int, RunView] = {}
    for run_id in range(1, 1 + rng.randint(0, most)):
        shape = rng.choice(known)
        order = rng.sample(range(len(fleet.nodes)), len(fleet.nodes))
        placement = _somewhere(fleet, shape, free, order)
        if placement is None:
            continue
        for index, gpus in placement.items():
            free[index] -= gpus
        found[run_id] = any_run(rng, run_id, shape, placement, waiting)
    return found


def _somewhere(
    fleet: Fleet, shape: Shape, free: Sequence[int], order: Sequence[int]
) -> dict[int, int] | None:
    placement: dict[int, int] = {}
    for gpus in (g for count, g in shape.members for _ in range(count)):
        able = (
            i for i in order if i not in placement and free[i] >= gpus and fleet.nodes[i].model == shape.model
        )
        index = next(able, None)
        if index is None:
            return None
        placement[index] = gpus
    return placement


def any_run(
    rng: Random, run_id: int, shape: Shape, placement: Mapping[int, int], waiting: Sequence[int]
) -> RunView:
    started_s = NOW_S - rng.choice((10.0, 500.0, 5000.0))
    phase = rng.choice((Phase.RUNNING, Phase.RUNNING, Phase.RUNNING, Phase.STARTING, Phase.STOPPING))
    stopping = phase is Phase.STOPPING
    return RunView(
        id=run_id,
        job_id=run_id,
        shape=shape,
        placement=placement,
        started_s=started_s,
        expected_end_s=NOW_S + rng.choice((-100.0, 30.0, 900.0, 9000.0)),
        phase=phase,
        saved_s=rng.choice((None, started_s, NOW_S - 5.0)),
        restart_cost_s=rng.choice((0.0, 120.0)),
        is_backfill=rng.choice((False, False, False, True)),
        preemptions_left=rng.randint(0, 2),
        free_by_s=NOW_S + rng.choice((0.0, 45.0)) if stopping else None,
        stopping_for=rng.choice((None, *waiting)) if stopping else None,
        queued_s=started_s - 60.0,
    )


def any_reservations(rng: Random, fleet: Fleet, jobs: Sequence[JobView]) -> dict[int, ReservationView]:
    """What stands from earlier ticks; targets may overlap, and nodes of them may have gone out of service."""
    found: dict[int, ReservationView] = {}
    for job in jobs:
        if not rng.choice((False, False, True)):
            continue
        order = rng.sample(range(len(fleet.nodes)), len(fleet.nodes))
        target = _somewhere(fleet, job.shape, [node.gpus for node in fleet.nodes], order)
        if target is not None:
            ready_s = NOW_S + rng.choice((0.0, 100.0, 2000.0))
            found[job.id] = ReservationView(
                job, target, NOW_S - rng.choice((0.0, 700.0)), ready_s, ready_s + 600.0
            )
    return found


@dataclass(frozen=True)
class Scene:
    """All that a replay needs."""

    fleet: Fleet
    tenants: dict[str, TenantView]
    work: list[Work]
    policy: Policy


def any_scene(rng: Random, size: int) -> Scene:
    """Work comes in bursts; expectations are right or wrong."""
    fleet = any_fleet(rng, most_nodes=1 + size)
    found = any_tenants(rng, fleet)
    known = [any_shape(rng, fleet, teams(found)) for _ in range(rng.randint(1, 5))]
    return Scene(fleet, found, any_work(rng, known, most=3 * size), any_policy(rng))


def any_work(rng: Random, known: Sequence[Shape], most: int) -> list[Work]:
    at_s = 0.0
    found = []
    for number in range(1, 1 + rng.randint(1, most)):
        at_s += rng.choice((0.0, 0.0, 40.0, 600.0))
        duration_s = rng.choice((1.0, 50.0, 700.0, 5000.0))
        found.append(
            Work(
                id=number,
                shape=rng.choice(known),
                submit_s=at_s,
                duration_s=duration_s,
                expected_s=duration_s * rng.choice((1.0, 1.0, 0.5, 2.0)),
                checkpoint_interval_s=rng.choice((None, 300.0)),
                on_signal=rng.random() < 0.5,
                restart_cost_s=rng.choice((0.0, 30.0)),
                preemption_budget=rng.randint(0, 2),
            )
        )
    return found


def worlds(size: int = 7) -> st.SearchStrategy[World]:
    """Any snapshot at all."""
    return st.builds(lambda seed, size: any_world(Random(seed), size), SEEDS, st.integers(0, size))


def scenes(size: int = 7) -> st.SearchStrategy[Scene]:
    return st.builds(lambda seed, size: any_scene(Random(seed), size), SEEDS, st.integers(1, size))


# worlds in which more than GPUs is short


def with_needs(rng: Random, world: World) -> World:
    """The same world with power limits that may bind, datasets with little room, doubts and objectives."""
    fleet = powered(rng, world.fleet)
    known = {job.shape for job in world.pending} | {run.shape for run in world.runs.values()}
    richer = {shape: _needy(rng, shape, len(fleet.nodes)) for shape in sorted(known, key=repr)}
    jobs = [
        replace(
            job,
            shape=richer[job.shape],
            objective=rng.choice(list(Objective)),
            deadline_s=rng.choice((None, NOW_S + 3000.0)),
        )
        for queue in world.queues.values()
        for job in queue
    ]
    by_id = {job.id: job for job in jobs}
    return replace(
        world,
        fleet=fleet,
        queues=queues_of(jobs),
        set_aside=[replace(job, shape=richer[job.shape]) for job in world.set_aside],
        runs={
            k: replace(run, shape=richer[run.shape], came_back=rng.random() < 0.3)
            for k, run in world.runs.items()
        },
        reservations={
            job_id: replace(r, job=by_id[job_id])
            for job_id, r in world.reservations.items()
            if job_id in by_id
        },
        data=_datasets(rng, len(fleet.nodes)),
        holdings=None,
    )


def powered(rng: Random, fleet: Fleet) -> Fleet:
    """Racks of a few nodes on two feeds, some of them on a common cooling unit; any of it may be too weak."""
    nodes = [
        replace(node, rack=f"r{i // 2}", doubts=rng.choice((0, 0, 0, 1)))
        for i, node in enumerate(fleet.nodes)
    ]
    racks = sorted({node.rack for node in nodes})
    limits = [
        PowerLimit(f"feed {feed} of {rack}", state, rng.choice((1500.0, 9000.0, 30000.0)), {rack: share})
        for rack in racks
        for feed in "AB"
        for state, share in (("normal", 0.5), (f"the other feed of {rack} lost", 1.0))
        if rng.random() < 0.5
    ]
    limits.append(
        PowerLimit("cooling", "unit lost", rng.choice((3000.0, 20000.0)), dict.fromkeys(racks[:3], 1.0))
    )
    base_w = {rack: rng.choice((0.0, 300.0, 900.0)) for rack in racks}
    return Fleet(nodes, PowerGrid(limits, [node.rack for node in nodes], base_w))


def _needy(rng: Random, shape: Shape, nodes: int) -> Shape:
    return replace(
        shape,
        draw_w=rng.choice((0.0, 100.0, 350.0, 700.0)),
        data=rng.choice(("", "", "web-3", "speech-1", "nobody knows it")),
        kind=rng.choice(("", "training", "training", "eval")),
        preferred=rng.choice(list(Locality)),
        avoids=frozenset(rng.sample(range(nodes), rng.choice((0, 0, 1)))),
    )


def _datasets(rng: Random, nodes: int) -> DataView:
    def holders() -> frozenset[int]:
        return frozenset(i for i in range(nodes) if rng.random() < 0.4)

    return DataView(
        {"web-3": DatasetView(800.0, holders(), 1200.0), "speech-1": DatasetView(300.0, holders(), 60.0)},
        {i: rng.choice((0.0, 400.0, 900.0, 5000.0)) for i in range(nodes) if rng.random() < 0.8},
    )


def needy_worlds(size: int = 7) -> st.SearchStrategy[World]:
    """Any snapshot in which power, data and spread count as well."""

    def build(seed: int, size: int) -> World:
        rng = Random(seed)
        return with_needs(rng, any_world(rng, size))

    return st.builds(build, SEEDS, st.integers(0, size))
