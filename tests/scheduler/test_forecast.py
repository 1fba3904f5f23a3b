"""Expected starts: right when durations are, blank rather than wrong, and the same for the same world."""

from dataclasses import replace

from cluster.scheduler.forecast import StartForecast, forecast
from tests.scheduler.worlds import HOUR, MINUTE, Gang, Story

FIRM = {"tier": "production"}


def foreseen(world: Story, **asked) -> dict[int, StartForecast]:
    return forecast(world.snapshot(), **{"samples": 5, **asked})


def exact(world: Story, gang: Gang) -> float | None:
    """The expected start if all durations are as stated."""
    return foreseen(world, samples=1)[gang.id].median_s


def test_who_fits_now_starts_now(world: Story):
    gang = world.submit(world.tenant("lab", guarantee=64), gpus=8)
    assert exact(world, gang) == 0.0


def test_who_waits_for_runs_starts_when_they_end(world: Story):
    lab = world.tenant("lab", guarantee=640)
    world.running(lab, gpus=32, lasts_s=HOUR, **FIRM)
    world.running(lab, gpus=32, lasts_s=2 * HOUR, **FIRM)
    first, second = world.submit(lab, gpus=32, age_s=10, **FIRM), world.submit(lab, gpus=64, **FIRM)
    assert exact(world, first) == HOUR
    assert HOUR + first.work.duration_s <= exact(world, second) <= 2 * HOUR + 2 * MINUTE


def test_the_forecast_comes_true_when_durations_do(world: Story):
    lab = world.tenant("lab", guarantee=640)
    for i in range(8):
        world.running(lab, gpus=8, lasts_s=(i + 1) * 20 * MINUTE, **FIRM)
    gangs = [world.submit(lab, gpus=8 * n, age_s=100 - n, lasts_s=HOUR, **FIRM) for n in (1, 3, 2, 5)]
    expected = {gang.id: exact(world, gang) for gang in gangs}
    world.advance(minutes=6 * 60)
    for gang in gangs:
        assert abs(gang.work.start_s - expected[gang.id]) <= 2 * MINUTE


def test_only_the_holder_of_the_place_may_expect_it_now():
    world = Story(nodes=4, reserve_after_s=0.0)
    lab = world.tenant("lab", guarantee=640)
    world.running(lab, gpus=16, lasts_s=10 * MINUTE, **FIRM)
    first = world.submit(lab, gpus=32, age_s=100, lasts_s=HOUR, **FIRM)
    second = world.submit(lab, gpus=32, lasts_s=HOUR, **FIRM)
    world.tick()
    assert exact(world, first) == 10 * MINUTE
    assert exact(world, second) >= 10 * MINUTE + HOUR


def test_uncertain_durations_spread_the_start_and_90_percent_is_no_sooner_than_half(world: Story):
    lab = world.tenant("lab", guarantee=640)
    world.running(lab, gpus=64, lasts_s=4 * HOUR, **FIRM)
    gang = world.submit(lab, gpus=8, **FIRM)
    found = foreseen(world, samples=16)[gang.id]
    assert found.samples == 16
    assert HOUR < found.median_s < 12 * HOUR and found.p90_s > found.median_s


def test_what_is_beyond_the_horizon_or_never_starts_is_blank(world: Story):
    lab = world.tenant("lab", guarantee=640)
    world.running(lab, gpus=64, lasts_s=30 * 24 * HOUR, **FIRM)
    late, never = world.submit(lab, gpus=8, **FIRM), world.submit(lab, gpus=100, **FIRM)
    found = foreseen(world)
    assert found[late.id].median_s is None and found[late.id].p90_s is None
    assert found[never.id].median_s is None


def test_a_job_on_hold_has_no_expected_start_and_one_before_its_time_not_before(world: Story):
    lab = world.tenant("lab", guarantee=64)
    held, later = world.submit(lab, gpus=8), world.submit(lab, gpus=8)
    world.hold(held, "asked")
    world.delay(later, until_s=HOUR)
    found = foreseen(world)
    assert found[held.id].median_s is None
    assert HOUR <= found[later.id].median_s <= HOUR + 2 * MINUTE


def test_a_run_that_is_told_to_stop_makes_room_and_comes_back_later(world: Story):
    owner, guest = world.tenant("owner", guarantee=64), world.tenant("guest")
    world.running(guest, gpus=64, tier="best_effort", lasts_s=9 * HOUR, grace_s=120)
    wish = world.submit(owner, gpus=64, lasts_s=HOUR, **FIRM)
    after = world.submit(guest, gpus=8, tier="best_effort")
    world.tick()
    assert exact(world, wish) <= 3 * MINUTE
    assert exact(world, after) >= HOUR


def test_the_same_seed_gives_the_same_forecast_and_the_world_is_left_alone(world: Story):
    lab = world.tenant("lab", guarantee=640)
    world.running(lab, gpus=64, lasts_s=HOUR, **FIRM)
    world.submit(lab, gpus=8, **FIRM)
    snapshot = world.snapshot()
    before = (dict(snapshot.runs), {k: list(v) for k, v in snapshot.queues.items()})
    assert forecast(snapshot, seed=3) == forecast(snapshot, seed=3)
    assert (dict(snapshot.runs), {k: list(v) for k, v in snapshot.queues.items()}) == before


def test_work_is_bounded_by_ticks(world: Story):
    lab = world.tenant("lab", guarantee=640)
    world.running(lab, gpus=64, lasts_s=HOUR, **FIRM)
    gang = world.submit(lab, gpus=8, **FIRM)
    assert foreseen(world, most_ticks=1)[gang.id].median_s is None


def test_an_overrun_run_does_not_end_at_once_nor_never(world: Story):
    lab = world.tenant("lab", guarantee=640)
    late = world.running(lab, gpus=64, since_s=4 * HOUR, expected_s=HOUR, lasts_s=99 * HOUR, **FIRM)
    world.foresee(late, ends_s=-3 * HOUR)
    gang = world.submit(lab, gpus=8, **FIRM)
    expected = exact(world, gang)
    assert expected is not None and 10 * MINUTE < expected < 3 * HOUR


def test_nobody_waits_nothing_is_foreseen(world: Story):
    world.tenant("lab", guarantee=64)
    assert forecast(replace(world.snapshot())) == {}
