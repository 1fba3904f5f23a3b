"""Loans are made from what is idle, come back on demand, and nothing swaps places for ever."""

from cluster.scheduler.words import Constraint
from tests.scheduler.worlds import Story


def test_a_borrower_cannot_send_another_borrower_away_and_nothing_loops():
    # a: 152 entitled, uses 248; best effort: 48 on loan; a asks for 48 more, on loan as well.
    world = Story(nodes=37, block=37, pod=37)
    a, b, rest = world.tenant("a", guarantee=152), world.tenant("b", guarantee=144), world.tenant("rest")
    del b
    world.running(a, gpus=248, lasts_s=90_000)
    loan = world.running(rest, gpus=48, tier="best_effort", lasts_s=90_000)
    world.submit(a, gpus=48, tier="best_effort")
    world.advance(minutes=30)
    assert world.evicted == [] and loan.is_running


def test_two_tenants_of_weight_nought_never_swap():
    world = Story(nodes=2)
    world.tenant("owner", guarantee=16)
    x, y = world.tenant("x", weight=0.0), world.tenant("y", weight=0.0)
    first = world.running(x, gpus=16, tier="best_effort", lasts_s=90_000)
    world.submit(y, gpus=16, tier="best_effort")
    world.advance(minutes=30)
    assert first.is_running and world.evicted == []


def test_what_was_freed_for_a_gang_is_not_taken_back_by_its_victims():
    world = Story(nodes=4)
    owner, guest = world.tenant("owner", guarantee=32), world.tenant("guest")
    quick = world.running(guest, gpus=16, tier="best_effort", grace_s=30)
    slow = world.running(guest, gpus=16, tier="best_effort", grace_s=300)
    wish = world.submit(owner, gpus=32)
    for _ in range(10):
        world.advance(seconds=60)
        assert not (quick.is_running and wish.is_queued and world.now_s > 60), (
            "the freed GPUs were taken back"
        )
    assert wish.is_running and quick.is_queued and slow.is_queued
    assert len(world.evicted) == 2


def test_a_higher_tier_inherits_what_is_held_for_a_lower_one():
    world = Story(nodes=4)
    owner, guest = world.tenant("owner", guarantee=64), world.tenant("guest")
    world.running(guest, gpus=32, tier="best_effort", grace_s=120)
    low = world.submit(owner, gpus=32, tier="research")
    world.tick()
    high = world.submit(owner, gpus=32, tier="production")
    world.advance(minutes=4)
    assert high.is_running and low.is_queued and len(world.evicted) == 1


def test_a_lender_gets_its_gpus_back_within_the_longest_grace_lent():
    world = Story(nodes=8)
    vision, speech = world.tenant("vision", guarantee=32), world.tenant("speech", guarantee=32)
    loan = world.running(speech, gpus=48, tier="best_effort", grace_s=120)
    wish = world.submit(vision, gpus=32, tier="best_effort")
    world.advance(seconds=150)
    assert wish.is_running and loan.is_queued


def test_guarantees_that_together_exceed_the_hardware_are_served_as_far_as_it_goes():
    world = Story(nodes=1, gpus=7)
    a, b, guest = world.tenant("a", guarantee=6), world.tenant("b", guarantee=4), world.tenant("guest")
    kept = world.running(a, gpus=4, tier="production")
    world.running(guest, gpus=3, tier="best_effort")
    wish = world.submit(b, gpus=3)
    world.advance(minutes=3)
    assert wish.is_running and kept.is_running


def test_a_lending_limit_keeps_the_rest_at_home_and_says_so():
    world = Story(nodes=4)
    world.tenant("owner", guarantee=32, lends=8)
    guest = world.tenant("guest")
    small = world.submit(guest, gpus=8, tier="best_effort", age_s=10)
    large = world.submit(guest, gpus=16, tier="best_effort")
    world.tick()
    assert small.is_running and large.why is Constraint.GUARANTEE
    assert "owner keeps 24 GPUs" in large.says


def test_usage_after_the_start_decides_who_borrows_not_usage_before():
    world = Story(nodes=4)
    a, b = world.tenant("a", guarantee=16), world.tenant("b", guarantee=16)
    world.running(a, gpus=16, tier="production")
    above = world.submit(a, gpus=16, age_s=900)
    within = world.submit(b, gpus=16)
    world.tick()
    assert within.is_running and above.is_queued


def test_without_lending_every_entitlement_is_a_hard_quota():
    world = Story(nodes=4, lending=False)
    world.tenant("idle", guarantee=16)
    busy = world.tenant("busy", guarantee=16)
    over = world.submit(busy, gpus=24)
    world.tick()
    assert over.why is Constraint.QUOTA and "lends nothing" in over.says


def test_only_preemptible_work_borrows():
    world = Story(nodes=2)
    world.tenant("owner", guarantee=16)
    guest = world.tenant("guest")
    firm = world.submit(guest, gpus=8, tier="production")
    soft = world.submit(guest, gpus=8, tier="research")
    world.tick()
    assert soft.is_running and firm.why is Constraint.QUOTA
    assert "only preemptible jobs may borrow" in firm.says
