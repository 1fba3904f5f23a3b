"""Worlds of any size for measuring the planner alone: a full cluster, some of it just freed, a long queue.

Seeded. Nothing of a database: the planner sees a World and nothing else.
"""

import math
import random

from cluster.scheduler.fleet import Fleet, NodeView, members_of
from cluster.scheduler.holdings import Holdings
from cluster.scheduler.policy import Policy
from cluster.scheduler.power import PowerGrid, PowerLimit
from cluster.scheduler.words import Locality, Tier
from cluster.scheduler.world import JobView, RunView, Shape, TenantView, World, queues_of

MODEL, NODE_GPUS = "h100", 8
BLOCK, BLOCKS_OF_POD, RACK = 25, 5, 5
"""nodes of a block, blocks of a pod, nodes of a rack"""
ORGANISATIONS, TEAMS = 4, 5
SIZES = {1: 8, 2: 6, 4: 8, 8: 26, 16: 20, 32: 14, 64: 9, 128: 6, 256: 3}
"""GPUs of a gang: its weight"""
TIERS = {Tier.PRODUCTION: 10, Tier.RESEARCH: 60, Tier.BEST_EFFORT: 30}
DRAW_W, BASE_W = 600.0, 4000.0
"""of a GPU at work beyond idle, and of a host with its GPUs idle"""
FREE_SHARE = 0.15
"""of the fleet has just come free"""
SAID = (
    "1 to 256 GPUs a gang, 20 teams of 4 organisations, 3 tiers, blocks of 25 nodes, a quarter of the gangs "
    "bound to a block or pod, power limits on racks and rows; all but 15 % of the GPUs are held"
)


def scale_world(nodes: int, gangs: int, seed: int = 1) -> World:
    """A cluster of so many nodes of 8 GPUs with so many gangs waiting."""
    rng = random.Random(f"{seed}:{nodes}:{gangs}")
    fleet = _fleet(nodes)
    tenants = _tenants(nodes * NODE_GPUS)
    runs = _runs(rng, fleet)
    largest = max(NODE_GPUS, nodes * NODE_GPUS // 8)
    jobs = [_job(rng, number, largest) for number in range(1, gangs + 1)]
    holdings = Holdings(fleet, runs.values())
    return World(0.0, fleet, tenants, queues_of(jobs), runs, policy=Policy(), holdings=holdings)


def _fleet(nodes: int) -> Fleet:
    views = [
        NodeView(
            f"n{i:05d}",
            MODEL,
            NODE_GPUS,
            f"block-{i // BLOCK:03d}",
            f"pod-{i // (BLOCK * BLOCKS_OF_POD):02d}",
            rack=f"r{i // RACK:04d}",
        )
        for i in range(nodes)
    ]
    racks = [view.rack for view in views]
    names = list(dict.fromkeys(racks))
    full_w = RACK * (BASE_W + NODE_GPUS * DRAW_W)
    # One feed carries a rack alone with little to spare; the cooling of a row of racks is the tighter limit.
    limits = [
        PowerLimit(f"feed of {rack}", "the other feed lost", 1.02 * full_w, {rack: 1.0}) for rack in names
    ]
    for row in range(0, len(names), 10):
        members = names[row : row + 10]
        limits.append(
            PowerLimit(
                f"cooling row {row // 10}",
                "one unit lost",
                0.97 * full_w * len(members),
                dict.fromkeys(members, 1.0),
            )
        )
    base_w = dict.fromkeys(names, RACK * BASE_W)
    return Fleet(views, PowerGrid(limits, racks, base_w))


def _tenants(gpus: int) -> dict[str, TenantView]:
    guarantee = gpus // (ORGANISATIONS * TEAMS)
    found = {f"org-{o}": TenantView(f"org-{o}") for o in range(ORGANISATIONS)}
    for o in range(ORGANISATIONS):
        for t in range(TEAMS):
            name = f"team-{o}{t}"
            found[name] = TenantView(name, f"org-{o}", 1.0 + t % 3, {MODEL: guarantee})
    return found


def _shape(rng: random.Random, gpus: int) -> Shape:
    tier = rng.choices(list(TIERS), TIERS.values())[0]
    required = Locality.CLUSTER
    if 8 < gpus <= BLOCK * NODE_GPUS and rng.random() < 0.25:
        required = Locality.BLOCK if gpus <= 64 else Locality.POD
    return Shape(
        f"team-{rng.randrange(ORGANISATIONS)}{rng.randrange(TEAMS)}",
        tier,
        MODEL,
        members_of(gpus, NODE_GPUS),
        required=required,
        preemptible=tier is not Tier.PRODUCTION,
        out_s=rng.choice((60.0, 180.0, 600.0)),
        draw_w=DRAW_W,
        kind="training",
    )


def _size(rng: random.Random, largest: int) -> int:
    return min(largest, rng.choices(list(SIZES), SIZES.values())[0])


def _job(rng: random.Random, number: int, largest: int) -> JobView:
    duration_s = min(max(300.0, rng.lognormvariate(math.log(3600.0), 1.2)), 7 * 86_400.0)
    shape = _shape(rng, _size(rng, largest))
    return JobView(number, shape, -rng.uniform(0.0, 7200.0), duration_s)


def _runs(rng: random.Random, fleet: Fleet) -> dict[int, RunView]:
    """Gangs on all nodes, of which some have just ended here and there."""
    supply = Holdings(fleet).supply
    runs: dict[int, RunView] = {}
    misses = 0
    while misses < 20:
        shape = _shape(rng, _size(rng, 256))
        placement = supply.place(shape.members, MODEL, Locality.CLUSTER)
        if placement is None:
            misses += 1
            continue
        supply.take(placement)
        began_s = -rng.uniform(600.0, 20_000.0)
        run_id = len(runs) + 1
        runs[run_id] = RunView(
            run_id,
            1_000_000 + run_id,
            shape,
            placement,
            began_s,
            rng.uniform(60.0, 40_000.0),
            saved_s=max(began_s, -rng.uniform(0.0, 3600.0)),
            restart_cost_s=120.0,
            queued_s=began_s - 60.0,
        )
    for run_id in rng.sample(sorted(runs), len(runs)):
        if supply.free_gpus(MODEL) >= FREE_SHARE * NODE_GPUS * len(fleet.nodes):
            break
        supply.give(runs.pop(run_id).placement)
    return runs
