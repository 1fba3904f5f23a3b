"""What would unblock a job that lacks power, cache room or a closer set: each change re-planned by hand."""

from dataclasses import replace

import pytest

from cluster.scheduler.explain import hint_text
from cluster.scheduler.fleet import Fleet
from cluster.scheduler.needs import DatasetView, DataView
from cluster.scheduler.planner import plan
from cluster.scheduler.policy import Policy
from cluster.scheduler.power import PowerGrid, PowerLimit
from cluster.scheduler.unblock import Hint, unblock
from cluster.scheduler.verdict import Verdict, binding
from cluster.scheduler.words import Constraint, Locality, Tier
from cluster.scheduler.world import JobView, RunView, Shape, TenantView, World, queues_of
from tests.scheduler.worlds import HOUR, MODEL, clock, nodes_in_blocks

DRAW_W = 500.0
RACK_W = 10_000.0
"""Two nodes of 8 GPUs at 500 W each make 8 kW; beside 3 kW that stand there anyway one node fits, not two."""


def shape(gpus: int = 8, **asked: object) -> Shape:
    asked = {"tier": Tier.PRODUCTION, "preemptible": False, **asked}
    return Shape("lab", model=MODEL, members=((gpus // 8, 8),), **asked)  # type: ignore[arg-type]


def job(of: Shape, **asked: object) -> JobView:
    return JobView(1, of, **{"queued_s": 0.0, "duration_s": HOUR, **asked})  # type: ignore[arg-type]


def a_run(number: int, node: int, of: Shape, ends_s: float = HOUR) -> RunView:
    return RunView(number, 100 + number, of, {node: 8}, 0.0, ends_s)


def world(
    *jobs: JobView, runs: tuple[RunView, ...] = (), powered: bool = False, data: DataView | None = None
) -> World:
    """Two racks of two nodes; `powered`: each may carry RACK_W in the worst state that counts."""
    nodes = [replace(n, rack=f"r{i // 2}") for i, n in enumerate(nodes_in_blocks(4))]
    limits = [PowerLimit(f"rack r{i}", "feed B lost", RACK_W, {f"r{i}": 1.0}) for i in range(2)]
    grid = PowerGrid(limits, [n.rack for n in nodes], {"r0": 3000.0, "r1": 3000.0}) if powered else None
    return World(
        0.0,
        Fleet(nodes, grid),
        {"lab": TenantView("lab", entitlement={MODEL: 32})},
        queues_of(jobs),
        {run.id: run for run in runs},
        policy=Policy(solver_limit_s=0.0),
        data=data or DataView(),
    )


def why(at: World) -> Verdict:
    (waiting,) = at.pending
    hold = plan(at).hold_of(waiting)
    assert hold is not None, "it starts"
    found = binding(hold.verdicts)
    assert found is not None
    return found


def hints(at: World) -> dict[str, Hint]:
    (waiting,) = at.pending
    hold = plan(at).hold_of(waiting)
    assert hold is not None, "it starts"
    found = {hint.kind: hint for hint in unblock(at, waiting, hold.verdicts)}
    assert all(hint_text(hint.kind, hint.data, clock) for hint in found.values())
    return found


def starts(at: World) -> bool:
    return 1 in plan(at).started_ids


def with_shape(at: World, **changes: object) -> World:
    (waiting,) = at.pending
    other = replace(waiting, shape=replace(waiting.shape, **changes))  # type: ignore[arg-type]
    return replace(at, queues=queues_of([other]))


HOT = shape(8, draw_w=DRAW_W)


def hot_world() -> World:
    """Each rack has a free node, and power for none: 3 kW and 4 kW of 10 kW are drawn, 4 kW are asked."""
    runs = (a_run(1, 0, HOT), a_run(2, 2, HOT))
    return world(job(HOT), runs=runs, powered=True)


def test_a_gang_short_of_power_may_be_capped_or_given_watts_or_wait_for_a_run():
    at = hot_world()
    assert why(at).constraint is Constraint.POWER
    found = hints(at)
    assert set(found) == {"cooler", "power", "runs_end"}

    to_w = found["cooler"].data["to_w"]
    assert starts(with_shape(at, draw_w=to_w)) and not starts(with_shape(at, draw_w=1.03 * to_w))
    assert to_w == pytest.approx(3000 / 8, rel=0.03)

    more = found["power"].data
    assert more["more_w"] == pytest.approx(1000.0) and more["state"] == "feed B lost"
    assert at.fleet.power is not None
    raised = [
        replace(e, limit_w=e.limit_w + more["more_w"]) if e.scope == more["scope"] else e
        for e in at.fleet.power.limits
    ]
    fleet = Fleet(at.fleet.nodes, at.fleet.power.with_limits(raised))
    assert starts(replace(at, fleet=fleet))
    (less,) = [replace(e, limit_w=e.limit_w - 1) for e in raised if e.scope == more["scope"]]
    fleet = Fleet(
        at.fleet.nodes, at.fleet.power.with_limits([less if e.scope == less.scope else e for e in raised])
    )
    assert not starts(replace(at, fleet=fleet))

    gone = set(found["runs_end"].data["jobs"])
    assert len(gone) == 1
    assert starts(replace(at, runs={k: r for k, r in at.runs.items() if r.job_id not in gone}))


def test_what_no_rack_could_ever_power_may_be_capped():
    hungry = shape(8, draw_w=1000.0)
    at = world(job(hungry), powered=True)
    bound = why(at)
    assert bound.constraint is Constraint.NEVER_FITS and bound.note == "power"
    found = hints(at)
    assert {"cooler", "power"} <= set(found)
    assert starts(with_shape(at, draw_w=found["cooler"].data["to_w"]))


def full_caches(size_gb: float = 500.0) -> DataView:
    return DataView({"web": DatasetView(size_gb, frozenset(), 250.0)}, dict.fromkeys(range(4), 100.0))


def test_a_gang_without_room_for_its_data_is_told_on_how_few_nodes_to_make_room():
    at = world(job(shape(16, data="web")), data=full_caches())
    bound = why(at)
    assert bound.constraint is Constraint.DATA
    found = hints(at)["cache_room"].data
    assert found["gb"] == 500.0 and len(found["nodes"]) == 2
    room = {i: 500.0 if n.name in found["nodes"] else 100.0 for i, n in enumerate(at.fleet.nodes)}
    assert starts(replace(at, data=replace(at.data, room_gb=room)))
    one = {i: 500.0 if n.name == found["nodes"][0] else 100.0 for i, n in enumerate(at.fleet.nodes)}
    assert not starts(replace(at, data=replace(at.data, room_gb=one)))


def test_who_waits_for_a_closer_set_may_do_without_it():
    plain = shape(8)
    runs = (a_run(1, 0, plain, 300.0), a_run(2, 2, plain, 9 * HOUR))
    trains = shape(16, kind="training", preferred=Locality.BLOCK)
    at = world(job(trains, duration_s=90 * HOUR), runs=runs)
    at = replace(at, fleet=Fleet([replace(n, pod=f"pod{i // 2}") for i, n in enumerate(at.fleet.nodes)]))
    bound = why(at)
    assert (bound.constraint, bound.note) == (Constraint.TOPOLOGY, "compact")
    assert "start_now" in hints(at)
    assert starts(with_shape(at, preferred=Locality.CLUSTER))


def test_two_changes_together_where_one_is_not_enough():
    """Its quota is too small, and once that is mended no node has room for its data."""
    asked = shape(16, data="web")
    at = world(job(asked), data=full_caches())
    small = {
        "lab": TenantView("lab", entitlement={MODEL: 8}),
        "other": TenantView("other", entitlement={MODEL: 24}),
    }
    at = replace(at, tenants=small)
    assert why(at).constraint is Constraint.QUOTA
    found = hints(at)
    assert set(found) == {"both"}, found
    first, second = found["both"].data["first"], found["both"].data["second"]
    assert {first.kind, second.kind} & {"entitlement", "preemptible"} and second.kind == "cache_room"
    assert "Two changes together: " in hint_text("both", found["both"].data, clock)
