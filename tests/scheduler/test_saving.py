"""Quota is saved for a gang that has waited long, and only then, and only where it helps."""

from cluster.scheduler.words import Constraint
from tests.scheduler.worlds import HOUR, MINUTE, Gang, Story

FIRM = {"tier": "production"}
AGED = {"age_s": 900.0}


def patient(nodes: int = 8, **policy) -> Story:
    """A world in which quota is saved after five minutes, not after hours."""
    return Story(nodes, save_after_s=300.0, **policy)


def crowded(**asked) -> tuple[Story, str, Gang]:
    """A team of 32 of 64 GPUs uses 16 for an hour; a gang of 24 of its own has waited for 15 minutes."""
    world = patient()
    lab = world.tenant("lab", guarantee=32, borrows=0)
    world.tenant("owner", guarantee=32, lends=0)
    world.running(lab, gpus=16, lasts_s=HOUR, **FIRM)
    return world, lab, world.submit(lab, gpus=24, **{**FIRM, **AGED, **asked})


def test_what_comes_back_is_not_used_up_by_younger_jobs_of_the_tenant():
    world, lab, gang = crowded()
    small = [world.submit(lab, gpus=8, lasts_s=5 * HOUR, **FIRM) for _ in range(2)]
    world.advance(minutes=61)
    assert gang.is_running and gang.waited_s == 900 + HOUR
    assert not any(other.is_running and other.work.start_s < gang.work.start_s for other in small)


def test_meanwhile_who_is_done_in_time_may_use_it():
    world, lab, gang = crowded()
    short = world.submit(lab, gpus=8, lasts_s=50 * MINUTE, **FIRM)
    world.tick()
    assert short.is_running
    world.advance(minutes=61)
    assert gang.is_running


def test_a_gang_that_has_not_waited_long_saves_nothing():
    world, lab, gang = crowded(age_s=0.0)
    other = world.submit(lab, gpus=8, lasts_s=5 * HOUR, **FIRM)
    world.tick()
    assert gang.why is Constraint.QUOTA and other.is_running


def test_what_can_never_fit_saves_nothing():
    world = patient(nodes=4, block=1, pod=4)
    lab = world.tenant("lab", guarantee=32, borrows=0)
    world.running(lab, gpus=16, **FIRM)
    never = world.submit(lab, gpus=24, within="block", **AGED, **FIRM)
    small = world.submit(lab, gpus=8, lasts_s=9 * HOUR, **FIRM)
    world.tick()
    assert never.why is Constraint.NEVER_FITS and small.is_running


def test_a_loan_that_only_a_busy_lender_could_make_saves_nothing():
    world = patient()
    owner, guest = world.tenant("owner", guarantee=64), world.tenant("guest")
    world.running(owner, gpus=48, lasts_s=HOUR, **FIRM)
    large = world.submit(guest, gpus=32, **AGED)
    small = world.submit(guest, gpus=8, lasts_s=9 * HOUR)
    world.tick()
    assert large.why is Constraint.GUARANTEE and small.is_running


def test_loans_are_saved_up_for_a_gang_that_could_have_them_all():
    world = patient()
    one, other = world.tenant("one"), world.tenant("other")
    for minutes in (10, 20, 30, 40):
        world.running(one, gpus=16, lasts_s=minutes * MINUTE)
    gang = world.submit(other, gpus=48, **AGED)
    late = [world.submit(one, gpus=16, lasts_s=9 * HOUR) for _ in range(3)]
    world.advance(minutes=31)
    assert gang.is_running and gang.work.start_s == 30 * MINUTE
    assert not any(loan.is_running for loan in late)


def test_higher_tiers_are_not_held_up_by_what_is_saved_for_lower_ones():
    world = patient()
    lab = world.tenant("lab", guarantee=32, borrows=0)
    world.tenant("owner", guarantee=32, lends=0)
    world.running(lab, gpus=16, lasts_s=HOUR, **FIRM)
    gang = world.submit(lab, gpus=24, tier="research", **AGED)
    urgent = world.submit(lab, gpus=16, lasts_s=9 * HOUR, **FIRM)
    world.tick()
    assert gang.is_queued and urgent.is_running


def test_firm_work_of_the_same_tier_does_not_pass_a_soft_gang_that_waited_longer():
    world = patient()
    lab = world.tenant("lab", guarantee=32, borrows=0)
    world.tenant("owner", guarantee=32, lends=0)
    world.running(lab, gpus=16, lasts_s=HOUR, tier="research")
    gang = world.submit(lab, gpus=24, tier="research", **AGED)
    firm = world.submit(lab, gpus=16, tier="research", preemptible=False, lasts_s=9 * HOUR)
    world.tick()
    assert firm.why is Constraint.RESERVATION and str(gang.id) in {b.id for b in firm.binding.blockers}


def test_another_tenants_guarantee_is_untouched_by_what_is_saved():
    world, _, gang = crowded()
    owner_job = world.submit("owner", gpus=32, lasts_s=9 * HOUR, **FIRM)
    world.tick()
    assert gang.is_queued and owner_job.is_running


def test_a_gang_that_gathers_keeps_its_quota_until_its_nodes_are_there():
    world = patient(reserve_after_s=0.0)
    lab, other = world.tenant("lab", guarantee=32, borrows=0), world.tenant("other", guarantee=64)
    world.running(other, gpus=48, lasts_s=HOUR, **FIRM)
    gang = world.submit(lab, gpus=24, **FIRM)
    world.tick()
    assert gang.reservation is not None
    greedy = world.submit(lab, gpus=16, lasts_s=9 * HOUR, **FIRM)
    world.advance(minutes=61)
    assert gang.is_running and greedy.is_queued


def test_a_gang_that_gathers_is_its_tenants_own_before_loans_made_after_it():
    world = patient(reserve_after_s=0.0)
    lab, other = world.tenant("lab", guarantee=32), world.tenant("other", guarantee=32)
    world.running(other, gpus=32, lasts_s=HOUR, **FIRM)
    world.running(lab, gpus=8, lasts_s=9 * HOUR, **FIRM)
    gang = world.submit(lab, gpus=32, lasts_s=9 * HOUR, members=((4, 8),))
    world.tick()
    assert gang.reservation is None or gang.is_queued
    world.submit(lab, gpus=8, lasts_s=9 * HOUR)
    world.advance(minutes=70)
    assert gang.is_running
