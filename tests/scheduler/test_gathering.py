"""Which nodes a blocked gang gathers, when it expects them, and for how long it holds on to them."""

from cluster.scheduler.draft import Draft, Rank
from cluster.scheduler.ends import projected_end
from cluster.scheduler.gathering import Gathering
from cluster.scheduler.words import Constraint
from tests.scheduler.worlds import HOUR, MINUTE, Story

FIRM = {"tier": "production"}


def busy(world: Story, tenant: str, *minutes: float) -> None:
    """One run on each node, from the first; it ends after so many minutes."""
    for index, lasts in enumerate(minutes):
        world.running(tenant, gpus=8, on=[f"n{index}"], lasts_s=lasts * MINUTE, **FIRM)


def eager(nodes: int = 8, **policy) -> tuple[Story, str]:
    """A world in which whoever is blocked gathers at once."""
    world = Story(nodes, reserve_after_s=0.0, **policy)
    return world, world.tenant("lab", guarantee=10_000)


def test_the_set_that_is_whole_soonest_is_gathered():
    world, lab = eager()
    busy(world, lab, 90, 10, 80, 20, 70, 30, 60, 40)
    gang = world.submit(lab, gpus=24, **FIRM)
    world.tick()
    assert {world.fleet.nodes[i].name for i in gang.reservation.target} == {"n1", "n3", "n5"}
    assert gang.reservation.ready_s == 30 * MINUTE
    assert gang.reservation.bound_s == 30 * MINUTE + world.replay.policy.max_grace_s


def test_it_gathers_within_the_locality_it_requires():
    world, lab = eager()
    busy(world, lab, 10, 90, 20, 80, 40, 50, 30, 70)
    gang = world.submit(lab, gpus=16, within="block", **FIRM)
    world.tick()
    assert {world.fleet.nodes[i].name for i in gang.reservation.target} == {"n4", "n5"}


def test_free_nodes_come_first_and_are_kept_for_it():
    world, lab = eager(4)
    busy(world, lab, 60, 60)
    gang = world.submit(lab, gpus=24, **FIRM)
    world.tick()
    late = world.submit(lab, gpus=8, **FIRM)
    world.tick()
    assert late.why is Constraint.RESERVATION
    assert late.binding.blockers[0].id == str(gang.id)
    assert f"reservation of job {gang.id}" in late.says


def test_a_gang_younger_than_the_policys_age_does_not_gather_yet():
    world = Story(4, reserve_after_s=300.0)
    lab = world.tenant("lab", guarantee=64)
    busy(world, lab, 60, 60)
    gang = world.submit(lab, gpus=32, **FIRM)
    world.advance(minutes=4)
    assert gang.reservation is None
    world.advance(minutes=2)
    assert gang.reservation is not None


def test_several_gangs_gather_side_by_side_on_nodes_of_their_own():
    world, lab = eager()
    busy(world, lab, *[60] * 8)
    first, second = world.submit(lab, gpus=32, **FIRM), world.submit(lab, gpus=24, **FIRM)
    world.tick()
    assert set(first.reservation.target).isdisjoint(second.reservation.target)


def test_no_more_gangs_gather_at_once_than_the_policy_allows():
    world, lab = eager(8, reservations_per_model=2)
    busy(world, lab, *[60] * 8)
    gangs = [world.submit(lab, gpus=8, age_s=10 - i, **FIRM) for i in range(4)]
    for _ in gangs:  # of equal gangs only the head is looked at in one tick
        world.tick()
    assert [gang.reservation is not None for gang in gangs] == [True, True, False, False]


def test_a_target_changes_only_for_one_that_is_whole_sooner():
    world, lab = eager(2)
    world.running(lab, on=["n0"], lasts_s=HOUR, **FIRM)
    other = world.running(lab, on=["n1"], lasts_s=2 * HOUR, **FIRM)
    gang = world.submit(lab, gpus=8, **FIRM)
    world.tick()
    shown = gang.reservation.bound_s
    world.foresee(other, ends_s=HOUR - 30.0)
    world.tick()
    assert set(gang.reservation.target) == {0}  # half a minute is not worth a move
    world.foresee(other, ends_s=HOUR - 600.0)
    world.tick()
    assert set(gang.reservation.target) == {1} and gang.reservation.bound_s < shown


def test_a_target_with_a_node_that_went_out_of_service_is_given_up_for_another():
    world, lab = eager(4)
    busy(world, lab, 10, 20, 30, 40)
    gang = world.submit(lab, gpus=16, **FIRM)
    world.tick()
    world.drain("n0")
    world.tick()
    assert set(gang.reservation.target) == {1, 2} and gang.reservation.ready_s == 30 * MINUTE


def test_a_run_that_outlasts_its_time_is_expected_to_go_on_for_a_share_of_it():
    world = Story(1)
    lab = world.tenant("lab", guarantee=8)
    late = world.running(lab, since_s=4 * HOUR, expected_s=HOUR, lasts_s=90 * HOUR)
    assert projected_end(late.run, world.now_s) == world.now_s + HOUR
    fresh = projected_end(late.run, late.run.started_s + HOUR + 1)
    assert fresh - (late.run.started_s + HOUR + 1) < 20 * MINUTE  # not a flat day


def test_a_higher_tier_gathers_what_a_lower_one_holds_and_the_lower_one_moves_on():
    world, lab = eager(4)
    busy(world, lab, 60, 60)
    low = world.submit(lab, gpus=24, tier="research")
    world.tick()
    assert {2, 3} <= set(low.reservation.target)
    high = world.submit(lab, gpus=24, **FIRM)
    world.tick()
    assert {2, 3} <= set(high.reservation.target)
    world.advance(minutes=61)
    assert high.is_running and low.is_queued


def test_what_this_plan_starts_on_a_target_is_waited_for_too():
    world, lab = eager(2)
    busy(world, lab, 60)
    low = world.submit(lab, gpus=16, tier="research")
    world.tick()
    high = world.submit(lab, gpus=8, lasts_s=2 * HOUR, **FIRM)
    world.tick()
    assert high.is_running and high.nodes == {"n1"}
    assert low.reservation is not None and low.reservation.ready_s == world.now_s + 2 * HOUR


def test_backfill_counts_as_out_as_soon_as_it_can_be():
    world, lab = eager(2)
    busy(world, lab, 30)
    gang = world.submit(lab, gpus=16, **FIRM)
    world.submit(lab, gpus=8, tier="best_effort", lasts_s=100 * HOUR, grace_s=120.0)
    world.tick()
    world.advance(minutes=5)
    assert gang.reservation.ready_s == 30 * MINUTE


def test_the_gang_itself_never_waits_for_more_than_the_last_of_its_nodes():
    world, lab = eager(3)
    busy(world, lab, 10, 20, 40)
    gang = world.submit(lab, gpus=24, **FIRM)
    world.tick()
    draft = Draft(world.snapshot())
    draft.reserve(gang.view, Rank(0, True), gang.reservation)
    assert Gathering(draft).ready(gang.view, Rank(0, True), gang.reservation.target) == 40 * MINUTE


def test_backfill_must_have_time_to_work_before_it_is_sent_away_again():
    for gap_s, starts in ((600.0, False), (700.0, True)):
        world, lab = eager(2, least_backfill_s=600.0)
        world.running(lab, gpus=8, on=["n0"], lasts_s=gap_s, **FIRM)
        world.submit(lab, gpus=16, **FIRM)
        world.tick()
        endless = world.submit(lab, gpus=4, tier="best_effort", lasts_s=100 * HOUR, grace_s=60.0)
        short = world.submit(lab, gpus=2, tier="best_effort", lasts_s=500.0, grace_s=60.0)
        world.tick()
        assert endless.is_running == starts and short.is_running


def test_backfill_is_not_started_and_sent_away_in_turns():
    world, lab = eager(2)
    world.running(lab, gpus=8, on=["n0"], lasts_s=2 * HOUR, **FIRM)
    gang = world.submit(lab, gpus=16, **FIRM)
    for _ in range(6):
        world.submit(lab, gpus=8, tier="best_effort", lasts_s=100 * HOUR, grace_s=60.0)
    world.advance(minutes=121)
    assert gang.is_running and len(world.evicted) == 1
