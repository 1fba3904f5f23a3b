"""The large gang is not starved: not by small jobs, not by other pools, not by what can never run."""

from cluster.scheduler.fleet import NodeView
from cluster.scheduler.words import Constraint
from tests.scheduler.worlds import Story


def stream(world, tenants, *, minutes, gpus=8, lasts_s=900.0, **asked):
    """Keep every freed GPU wanted: a few small jobs in the queue at all times."""
    waiting = []
    end_s = world.now_s + 60.0 * minutes
    while world.now_s < end_s:
        waiting = [gang for gang in waiting if gang.is_queued]
        while len(waiting) < 6:
            tenant = tenants[len(waiting) % len(tenants)]
            waiting.append(world.submit(tenant, gpus=gpus, lasts_s=lasts_s, **asked))
        world.advance(seconds=60)
        yield


def test_a_stream_of_small_jobs_cannot_keep_a_gang_of_half_the_quota_waiting():
    world = Story(nodes=13, block=13, pod=13)  # 104 GPUs
    lab = world.tenant("lab", guarantee=104)
    world.running(lab, gpus=32, lasts_s=1800)
    world.running(lab, gpus=32, lasts_s=2400)
    gang = world.submit(lab, gpus=56)
    shown = None
    for _ in stream(world, [lab], minutes=180):
        shown = shown or (gang.reservation and gang.reservation.bound_s)
        if gang.is_running:
            break
    assert gang.is_running
    assert shown is None or gang.work.start_s <= shown


def test_of_two_equal_teams_the_one_with_large_gangs_gets_its_share():
    world = Story(nodes=8, block=8, pod=8)
    small, large = world.tenant("small", guarantee=32), world.tenant("large", guarantee=32)
    for _ in range(8):
        world.running(small, gpus=8, lasts_s=1200)
    gang = world.submit(large, gpus=32)
    for _ in stream(world, [small], minutes=60):
        if gang.is_running:
            break
    assert gang.is_running


def test_a_blocked_head_of_one_gpu_model_does_not_hold_up_another():
    nodes = [NodeView(f"h{i}", "h100", 8, "hb", "p") for i in range(2)]
    nodes += [NodeView(f"a{i}", "a100", 8, "ab", "p") for i in range(2)]
    for queueing in ("lockstep", "fifo", "easy"):
        world = Story(nodes, queueing=queueing)
        lab = world.tenant("lab", guarantee=64)
        world.running(lab, gpus=16, tier="production")
        world.tenant("lab", guarantee=64)
        head = world.submit(lab, gpus=16, age_s=500)
        other = world.submit(lab, gpus=16, model="a100", tier="best_effort")
        world.tick()
        assert head.is_queued and other.is_running, queueing


def test_a_thousand_blocked_jobs_ahead_do_not_use_up_the_look_ahead():
    world = Story(nodes=4)
    lab, poor = world.tenant("lab", guarantee=32), world.tenant("poor", guarantee=0, borrows=0)
    for i in range(1000):
        world.submit(poor, gpus=8, age_s=10_000.0 + i)
    runnable = [world.submit(lab, gpus=8) for _ in range(2)]
    world.tick()
    assert all(gang.is_running for gang in runnable)


def test_the_thousandth_shape_is_reached_in_one_tick():
    world = Story(nodes=8)
    lab = world.tenant("lab", guarantee=64)
    poor = [world.tenant(f"poor{i}", guarantee=0, borrows=0) for i in range(300)]
    for i, tenant in enumerate(poor):
        for gpus in (8, 16, 24):
            world.submit(tenant, gpus=gpus, age_s=5000.0 + i)
    last = world.submit(lab, gpus=64)
    world.tick()
    assert last.is_running


def test_what_never_fits_leaves_the_head_and_the_next_may_preempt():
    world = Story(nodes=4)
    high, low = world.tenant("high", guarantee=32), world.tenant("low")
    world.running(low, gpus=32, tier="best_effort", grace_s=60)
    never = world.submit(high, gpus=40, age_s=900)
    whole = world.submit(high, gpus=32, age_s=60)
    world.advance(minutes=3)
    assert never.why is Constraint.NEVER_FITS
    assert whole.is_running
