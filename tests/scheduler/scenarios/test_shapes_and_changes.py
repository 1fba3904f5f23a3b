"""Sums fit where shapes do not; quotas change under running work; answers stay honest about both."""

from cluster.scheduler.fleet import NodeView
from cluster.scheduler.verdict import signature
from cluster.scheduler.words import Constraint
from tests.scheduler.worlds import HOUR, MINUTE, Story

FIRM = {"tier": "production"}


def test_when_the_sum_fits_but_the_shape_does_not_no_more_start_than_fit_and_the_rest_blocks_nobody():
    world = Story(nodes=10, gpus=6, block=10, pod=10)
    lab = world.tenant("lab", guarantee=1000)
    twelve = [world.submit(lab, gpus=4, age_s=100, lasts_s=9 * HOUR, **FIRM) for _ in range(12)]
    small = world.submit(lab, gpus=2, **FIRM)
    world.tick()
    assert [gang.is_running for gang in twelve] == [True] * 10 + [False] * 2
    assert twelve[-1].why is Constraint.GANG_SIZE and "18 GPUs are free in pieces" in twelve[-1].says
    assert small.is_running


def test_an_infeasible_request_is_told_once_and_for_all():
    world = Story(nodes=4, block=2)
    lab = world.tenant("lab", guarantee=64)
    gang = world.submit(lab, gpus=24, within="block", **FIRM)
    said = set()
    for _ in range(20):
        world.advance(minutes=10)
        world.submit(lab, gpus=8, lasts_s=15 * MINUTE)
        said.add((gang.says, signature(gang.hold.verdicts)))
    assert len(said) == 1 and gang.why is Constraint.NEVER_FITS


def test_a_newcomer_without_a_guarantee_sends_nobody_away():
    world = Story(nodes=8)
    old = world.tenant("old")
    runs = [world.running(old, gpus=16, tier="best_effort", lasts_s=HOUR) for _ in range(4)]
    newcomer = world.submit(world.tenant("new"), gpus=32, tier="best_effort")
    world.advance(minutes=30)
    assert world.evicted == [] and all(run.is_running for run in runs)
    world.advance(minutes=35)
    assert newcomer.is_running  # natural ends are soon enough


def test_a_guarantee_that_is_withdrawn_is_lendable_at_once():
    world = Story(nodes=4)
    world.tenant("leaver", guarantee=32, lends=0)
    guest = world.tenant("guest")
    loan = world.submit(guest, gpus=16, tier="best_effort")
    world.tick()
    assert loan.why is Constraint.GUARANTEE
    world.tenant("leaver", guarantee=0)
    world.tick()
    assert loan.is_running


def test_a_guarantee_that_is_cut_turns_running_work_into_a_loan_that_its_new_owner_calls_back():
    world = Story(nodes=4)
    cut, gainer = world.tenant("cut", guarantee=32), world.tenant("gainer")
    oldest, newest = (world.running(cut, gpus=16, since_s=s, lasts_s=9 * HOUR) for s in (600, 60))
    world.tenant("cut", guarantee=16)
    world.tenant("gainer", guarantee=16)
    wish = world.submit(gainer, gpus=16)
    world.advance(minutes=3)
    assert wish.is_running and oldest.is_running and newest.is_queued


def test_a_model_that_no_guarantee_names_is_there_for_loans():
    world = Story(nodes=2)
    lab = world.tenant("lab", guarantee=16, model="a100")
    soft, firm = world.submit(lab, gpus=8), world.submit(lab, gpus=8, **FIRM)
    world.tick()
    assert soft.is_running and firm.why is Constraint.QUOTA


def test_a_reclaim_never_cuts_a_borrower_below_its_own_guarantee_while_loans_suffice():
    world = Story(nodes=6)
    owner, guest = world.tenant("owner", guarantee=32), world.tenant("guest", guarantee=16)
    own = [world.running(guest, gpus=8, since_s=900 - i, lasts_s=9 * HOUR) for i in range(2)]
    loans = [world.running(guest, gpus=8, since_s=300 - i, lasts_s=9 * HOUR) for i in range(4)]
    wish = world.submit(owner, gpus=32)
    world.advance(minutes=3)
    assert wish.is_running and all(run.is_running for run in own)
    assert sorted(world.evicted) == sorted(run.id for run in loans)


def test_victims_of_another_gpu_model_are_no_help_and_are_left_alone():
    nodes = [NodeView("h0", "h100", 8, "b", "p"), NodeView("a0", "a100", 8, "c", "p")]
    world = Story(nodes)
    owner, guest = world.tenant("owner", guarantee=8), world.tenant("guest")
    busy = world.running(owner, gpus=8, on=["h0"], **FIRM)
    other = world.running(guest, gpus=8, on=["a0"], model="a100", tier="best_effort")
    world.submit(owner, gpus=8, **FIRM)
    world.advance(minutes=10)
    assert busy.is_running and other.is_running and world.evicted == []


def test_nobody_is_evicted_twice_for_one_gang_nor_for_a_gang_that_is_already_served():
    world = Story(nodes=8)
    owner, guest = world.tenant("owner", guarantee=64), world.tenant("guest")
    for _ in range(8):
        world.running(guest, gpus=8, tier="best_effort", grace_s=240, lasts_s=9 * HOUR)
    wish = world.submit(owner, gpus=32)
    world.advance(minutes=30)
    assert wish.is_running and len(world.evicted) == 4


def test_an_aged_owners_demand_is_saved_for_and_a_loan_that_is_back_in_time_is_still_made():
    world = Story(nodes=25, block=5, pod=25, save_after_s=300.0)
    owner, guest = world.tenant("owner", guarantee=200), world.tenant("guest")
    world.running(owner, gpus=96, lasts_s=HOUR, **FIRM)
    big = world.submit(owner, gpus=200, age_s=900, **FIRM)
    long = world.submit(guest, gpus=48, tier="best_effort", lasts_s=9 * HOUR, age_s=1.0)
    short = world.submit(guest, gpus=48, tier="best_effort", lasts_s=50 * MINUTE)
    world.tick()
    assert short.is_running
    assert long.is_running or str(big.id) in {b.id for b in long.binding.blockers}
    world.advance(minutes=70)
    assert big.is_running
