"""Preemption takes the right runs, no more of them than it needs, and none in vain."""

from cluster.scheduler.words import Constraint
from tests.scheduler.worlds import Story


def test_one_gpu_wanted_costs_one_small_run_not_ten():
    world = Story(nodes=1, gpus=11)
    owner, guest = world.tenant("owner", guarantee=1), world.tenant("guest")
    for _ in range(11):
        world.running(guest, gpus=1, tier="best_effort")
    world.submit(owner, gpus=1)
    world.tick()
    assert len(world.evicted) == 1


def test_of_what_was_borrowed_the_newest_goes_and_the_entitled_stays():
    world = Story(nodes=10, gpus=8, block=10, pod=10)
    a, b = world.tenant("a", guarantee=40), world.tenant("b", guarantee=40)
    own = [world.running(a, gpus=8, since_s=7200 - i, lasts_s=36_000) for i in range(5)]
    borrowed = [world.running(a, gpus=8, since_s=600 - 60 * i) for i in range(2)]
    world.running(b, gpus=24, tier="production")
    world.submit(b, gpus=16)
    world.tick()
    assert set(world.evicted) == {gang.id for gang in borrowed}
    assert not set(world.evicted) & {gang.id for gang in own}


def test_nobody_is_sent_away_for_a_gang_that_cannot_be_placed_anyhow():
    world = Story(nodes=4)
    owner, firm, guest = (world.tenant(n, guarantee=g) for n, g in (("owner", 32), ("firm", 8), ("guest", 0)))
    world.running(firm, gpus=8, tier="production")
    for _ in range(3):
        world.running(guest, gpus=8, tier="best_effort")
    gang = world.submit(owner, gpus=32, tier="production")
    world.tick()
    assert world.evicted == [] and gang.why is Constraint.GANG_SIZE


def test_a_limit_that_is_not_set_is_unlimited():
    world = Story(nodes=4)
    world.tenant("owner", guarantee=32)
    guest = world.tenant("guest", guarantee=0, borrows=None)
    loan = world.submit(guest, gpus=32, tier="best_effort")
    world.tick()
    assert loan.is_running


def test_the_run_with_least_work_since_its_checkpoint_goes():
    world = Story(nodes=2)
    owner, guest = world.tenant("owner", guarantee=8), world.tenant("guest")
    costly = world.running(guest, gpus=8, tier="best_effort", since_s=5442, saved_s=5400, lasts_s=36_000)
    cheap = world.running(guest, gpus=8, tier="best_effort", since_s=9000, saved_s=30, lasts_s=36_000)
    world.submit(owner, gpus=8)
    world.tick()
    assert world.evicted == [cheap.id] and costly.is_running


def test_a_loan_goes_before_entitled_work_of_a_lower_tier():
    world = Story(nodes=2)
    owner, lower, guest = (world.tenant(n, guarantee=g) for n, g in (("o", 8), ("lower", 8), ("guest", 0)))
    entitled = world.running(lower, gpus=8, tier="best_effort", saved_s=0)
    loan = world.running(guest, gpus=8, tier="research", saved_s=3000, since_s=4000, lasts_s=36_000)
    world.submit(owner, gpus=8, tier="production")
    world.tick()
    assert world.evicted == [loan.id] and entitled.is_running


def test_victims_smaller_than_what_is_asked_count_together():
    world = Story(nodes=1)
    owner, guest = world.tenant("owner", guarantee=8), world.tenant("guest")
    for _ in range(4):
        world.running(guest, gpus=2, tier="best_effort")
    wish = world.submit(owner, gpus=8)
    world.advance(minutes=3)
    assert len(world.evicted) == 4 and wish.is_running


def test_a_tenant_may_preempt_its_own_lower_tier_when_its_own_cap_binds():
    world = Story(nodes=2)
    lab = world.tenant("lab", guarantee=16, borrows=0)
    own = world.running(lab, gpus=16, tier="best_effort")
    wish = world.submit(lab, gpus=8, tier="production")
    world.advance(minutes=3)
    assert wish.is_running and own.is_queued


def test_a_run_whose_budget_is_used_up_is_left_alone_by_tiers_but_not_by_a_lender():
    world = Story(nodes=2)
    owner, lab = world.tenant("owner", guarantee=8), world.tenant("lab", guarantee=8)
    spent = world.running(lab, gpus=8, tier="best_effort", preemption_budget=0)
    world.running(lab, gpus=8, tier="best_effort", preemption_budget=0, since_s=10)
    world.submit(owner, gpus=8, tier="production")
    world.tick()
    assert spent.is_running and len(world.evicted) == 1  # the loan is called back, the own run stays


def test_production_is_never_preempted():
    world = Story(nodes=2)
    a, b = world.tenant("a", guarantee=16), world.tenant("b", guarantee=16)
    firm = world.running(a, gpus=16, tier="production")
    world.submit(b, gpus=16, tier="production")
    world.advance(minutes=20)
    assert firm.is_running and world.evicted == []


def test_who_failed_again_and_again_after_its_start_loses_the_right_to_preempt():
    world = Story(nodes=2)
    owner, guest = world.tenant("owner", guarantee=16), world.tenant("guest")
    world.running(guest, gpus=16, tier="best_effort")
    wish = world.submit(owner, gpus=16, tier="production")
    world.change(wish, may_preempt=False)
    world.tick()
    assert world.evicted == [] and wish.is_queued
