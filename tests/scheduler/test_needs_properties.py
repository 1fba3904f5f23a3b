"""What holds where power, data and spread count as well as GPUs."""

from collections.abc import Iterator, Mapping
from itertools import combinations

from hypothesis import HealthCheck, given, settings

from cluster.scheduler.joint import plan_jointly
from cluster.scheduler.planner import plan
from cluster.scheduler.validity import violations
from cluster.scheduler.verdict import binding
from cluster.scheduler.window import score
from cluster.scheduler.words import Constraint, Locality
from cluster.scheduler.world import Shape, World
from tests.scheduler.random_worlds import needy_worlds

anything = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@anything
@given(needy_worlds())
def test_every_plan_keeps_the_rules(world: World):
    assert violations(world, plan(world)) == []


@anything
@given(needy_worlds())
def test_explaining_changes_nothing_and_every_hold_says_why(world: World):
    explained, plain = plan(world, explain=True), plan(world, explain=False)
    assert (explained.starts, explained.evictions) == (plain.starts, plain.evictions)
    assert explained.reservations == plain.reservations
    for job in world.pending:
        hold = explained.hold_of(job)
        assert hold is None or binding(hold.verdicts) is not None


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(needy_worlds())
def test_the_solver_is_never_worse_and_never_breaks_a_rule(world: World):
    joint = plan_jointly(world)
    assert violations(world, joint.plan) == []
    assert score(world, joint.plan) >= score(world, plan(world))


@anything
@given(needy_worlds(4))
def test_a_job_that_lacks_power_or_room_for_data_has_no_place_at_all(world: World):
    """By trying every set of nodes on what is free after the plan."""
    decided = plan(world)
    free = {i: node.gpus if node.usable else 0 for i, node in enumerate(world.fleet.nodes)}
    for placement in [*(r.placement for r in world.runs.values()), *(s.placement for s in decided.starts)]:
        for index, gpus in placement.items():
            free[index] -= gpus
    for hold in decided.holds.values():
        bound = binding(hold.verdicts)
        if bound is not None and bound.constraint in (Constraint.POWER, Constraint.DATA):
            assert bound.missing, bound
            if not decided.reservations:
                assert not any(
                    violations_of_start(world, decided, hold.shape, p) == []
                    for p in placements(world, hold.shape, free)
                )


def violations_of_start(world, decided, shape, placement) -> list[str]:
    """What the plan would break if the gang stood here too."""
    from dataclasses import replace

    from cluster.scheduler.plan import Start

    job = next(
        j
        for queue in world.queues.values()
        for j in queue
        if j.shape == shape and j.id not in decided.started_ids
    )
    more = replace(decided, starts=(*decided.starts, Start(job.id, placement, True)))
    return [v for v in violations(world, more) if " W of " in v or "to stage" in v]


def placements(world: World, shape: Shape, free: Mapping[int, int]) -> Iterator[dict[int, int]]:
    """Every way to stand on what is free, for gangs of one member size."""
    if len(shape.members) > 1:
        return
    ((count, gpus),) = shape.members
    able = [
        i for i, n in enumerate(world.fleet.nodes) if n.usable and n.model == shape.model and free[i] >= gpus
    ]
    for chosen in combinations(able, count):
        levels = {
            Locality.NODE: len(chosen),
            Locality.BLOCK: len({world.fleet.within[i][0] for i in chosen}),
            Locality.POD: len({world.fleet.within[i][1] for i in chosen}),
            Locality.CLUSTER: 1,
        }
        if levels[shape.required] == 1:
            yield dict.fromkeys(chosen, gpus)
