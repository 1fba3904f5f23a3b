"""The baselines of a replay do what their names say: strict FIFO, and EASY backfill."""

from tests.scheduler.worlds import HOUR, MINUTE, Story

FIRM = {"tier": "production"}


def pool(queueing: str, nodes: int = 4) -> Story:
    """One pool for everybody, by age alone."""
    return Story(nodes, queueing=queueing, quotas=False)


def test_under_fifo_nothing_passes_a_blocked_head_not_even_a_higher_tier():
    world = pool("fifo")
    world.running("lab", gpus=16, lasts_s=HOUR)
    head = world.submit("lab", gpus=24, age_s=60)
    younger = world.submit("lab", gpus=8, tier="production", lasts_s=MINUTE)
    world.advance(minutes=30)
    assert head.is_queued and younger.is_queued and world.evicted == []
    world.advance(minutes=31)
    assert head.is_running and younger.is_done


def test_under_easy_only_what_is_done_in_time_passes_the_head():
    world = pool("easy")
    world.running("lab", gpus=16, lasts_s=HOUR)
    head = world.submit("lab", gpus=24, age_s=60)
    short = world.submit("lab", gpus=8, lasts_s=50 * MINUTE)
    long = world.submit("lab", gpus=16, tier="production", lasts_s=2 * HOUR)
    world.tick()
    assert short.is_running and long.is_queued
    world.advance(minutes=60)
    assert head.is_running and head.work.start_s == HOUR


def test_under_easy_a_shorter_job_of_the_same_shape_is_found_behind_a_longer_one():
    world = pool("easy")
    world.running("lab", gpus=24, lasts_s=HOUR)
    head = world.submit("lab", gpus=32, age_s=60)
    long, short = (world.submit("lab", gpus=8, lasts_s=lasts) for lasts in (3 * HOUR, 10 * MINUTE))
    world.tick()
    assert head.is_queued and long.is_queued and short.is_running


def test_under_easy_what_does_not_touch_the_heads_place_may_take_its_time():
    world = pool("easy")
    world.running("lab", gpus=16, on=["n0", "n1"], lasts_s=HOUR)
    world.running("lab", gpus=4, on=["n2"], lasts_s=9 * HOUR)
    head = world.submit("lab", gpus=24, age_s=60)
    beside = world.submit("lab", gpus=4, lasts_s=50 * HOUR)
    world.tick()
    assert set(head.reservation.target) == {0, 1, 3} and beside.nodes == {"n2"}


def test_nobody_is_preempted_under_plain_queueing():
    for queueing in ("fifo", "easy"):
        world = pool(queueing)
        soft = world.running("lab", gpus=32, tier="best_effort", lasts_s=HOUR)
        world.submit("lab", gpus=32, **FIRM)
        world.advance(minutes=50)
        assert soft.is_running and world.evicted == []
