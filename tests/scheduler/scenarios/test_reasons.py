"""The reason shown is the one that binds, is never missing, and does not flap."""

from cluster.scheduler.words import Constraint
from tests.scheduler.worlds import Story


def test_equal_gangs_share_the_first_ones_reason_and_none_stays_unevaluated():
    world = Story(nodes=2)
    lab = world.tenant("lab", guarantee=16)
    world.running(lab, gpus=16, tier="production")
    many = [world.submit(lab, gpus=16, age_s=i) for i in range(500)]
    world.tick()
    # The head may save quota, with a hold of its own; all others are one.
    assert len({id(gang.hold) for gang in many[:-1]}) == 1
    assert many[0].why is Constraint.QUOTA or many[0].why is Constraint.GUARANTEE
    assert all(gang.why is many[0].why for gang in (many[1], many[250], many[-1]))


def test_while_victims_drain_the_reason_stays_and_counts_them_down():
    world = Story(nodes=4)
    owner, guest = world.tenant("owner", guarantee=32), world.tenant("guest")
    for i in range(4):
        world.running(guest, gpus=8, tier="best_effort", grace_s=120.0 + 60.0 * i)
    wish = world.submit(owner, gpus=32, tier="production")
    seen = []
    for _ in range(14):
        world.advance(seconds=30)
        if wish.is_running:
            break
        seen.append((wish.why, wish.binding.demand))
    assert wish.is_running
    assert {why for why, _ in seen} == {Constraint.DRAINING}
    left = [runs for _, runs in seen]
    assert left == sorted(left, reverse=True) and left[0] == 4


def test_a_gang_of_two_with_room_for_one_is_told_about_the_gang_not_about_its_first_member():
    world = Story(nodes=2)
    lab = world.tenant("lab", guarantee=16)
    world.running(lab, gpus=8, tier="production")
    pair = world.submit(lab, gpus=16, tier="production")
    world.tick()
    assert pair.why is Constraint.QUOTA  # 8 + 16 > 16: its own limit comes before room
    other = world.tenant("other", guarantee=16)
    gang = world.submit(other, gpus=16, tier="production")
    world.tick()
    assert gang.why is Constraint.GANG_SIZE
    assert (gang.binding.demand, gang.binding.limit, gang.binding.missing) == (16, 8, 8)


def test_idle_nodes_are_counted_as_free_not_as_installed():
    world = Story(nodes=4)
    lab = world.tenant("lab", guarantee=64)
    world.running(lab, gpus=16, tier="production")
    wide = world.submit(lab, gpus=24)
    world.tick()
    assert wide.why is Constraint.GANG_SIZE
    assert (wide.binding.demand, wide.binding.limit) == (24, 16)


def test_what_can_never_fit_says_so_whatever_else_blocks_it():
    world = Story(nodes=2)
    lab = world.tenant("lab", guarantee=8)
    huge = world.submit(lab, gpus=24)
    world.tick()
    assert huge.why is Constraint.NEVER_FITS
    assert "24 GPUs asked, 16 installed" in huge.says


def test_idle_guarantee_is_lent_although_its_owner_waits_for_more_than_is_there():
    # 200 GPUs guaranteed; 100 run, 200 more are asked: 100 stay idle unless they are lent meanwhile.
    world = Story(nodes=25, block=5, pod=25)
    owner, guest = world.tenant("owner", guarantee=200), world.tenant("guest")
    world.running(owner, gpus=96, tier="production", lasts_s=36_000)
    big = world.submit(owner, gpus=200, tier="production")
    small = world.submit(guest, gpus=96, tier="best_effort", lasts_s=3600)
    world.tick()
    assert big.is_queued and small.is_running


def test_a_hold_names_who_holds_what_is_missing_and_until_when():
    world = Story(nodes=2)
    lab, other = world.tenant("lab", guarantee=16), world.tenant("other", guarantee=16)
    held = world.running(lab, gpus=16, tier="production", lasts_s=1200)
    wish = world.submit(other, gpus=8)
    world.tick()
    (blocker,) = wish.binding.blockers
    assert (blocker.id, blocker.tenant, blocker.gpus, blocker.until_s) == (str(held.id), "lab", 16, 1200.0)
    assert "job 1 (lab, production 16 GPUs, until minute 20)" in wish.says


def test_only_the_holder_of_what_is_reserved_may_expect_it():
    world = Story(nodes=4, reserve_after_s=0.0)
    lab = world.tenant("lab", guarantee=64)
    world.running(lab, gpus=16, tier="production", lasts_s=600)
    first = world.submit(lab, gpus=32, tier="production", age_s=60)
    second = world.submit(lab, gpus=16, tier="production", preemptible=False)
    world.tick()
    assert first.reservation is not None and second.reservation is not first.reservation
    assert second.why in (Constraint.RESERVATION, Constraint.GANG_SIZE)
    assert str(first.id) in {b.id for b in second.binding.blockers} or second.why is Constraint.GANG_SIZE


def test_search_that_ends_at_its_budget_is_not_sold_as_proof():
    world = Story(nodes=4, search_budget=0)
    owner, guest = world.tenant("owner", guarantee=32), world.tenant("guest")
    world.running(guest, gpus=32, tier="best_effort")
    wish = world.submit(owner, gpus=32)
    world.tick()
    assert wish.binding.proof == "search"
    assert "not a proof" in wish.says


def test_a_drained_node_that_is_all_that_is_missing_is_named_with_its_reason():
    world = Story(nodes=2)
    lab = world.tenant("lab", guarantee=16)
    world.drain("n1", why="drained: cable check")
    wish = world.submit(lab, gpus=16)
    world.tick()
    assert wish.why is Constraint.NODE_HEALTH
    assert "n1 (drained: cable check)" in wish.says
