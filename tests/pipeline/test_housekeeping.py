"""What nobody reads any more goes; the books stay."""

from datetime import timedelta

from django.utils import timezone

from cluster.models import Decision, Event, Explanation, Tick, UsageInterval
from cluster.pipeline.housekeeping import KEEP_PULSE, KEEP_TICKS, tidy


def make_old(rows, column: str, age: timedelta) -> None:
    rows.update(**{column: timezone.now() - age - timedelta(minutes=1)})


def test_old_ticks_and_pulses_go_and_decisions_events_and_usage_stay(tiny):
    vision = tiny.tenant("vision", gpus=64)
    job = tiny.running(vision, gpus=8)
    tiny.advance(60)
    make_old(Tick.objects, "wall_at", KEEP_TICKS)
    make_old(Event.objects, "wall_at", KEEP_PULSE)
    usage = UsageInterval.objects.count()

    gone = tidy()

    assert gone["ticks"] == 2 and gone["events"] == 3
    assert not Event.objects.filter(kind="capacity").exists()
    assert set(Event.objects.values_list("kind", flat=True)) >= {
        "job.submitted",
        "job.started",
        "job.running",
    }
    assert Tick.objects.count() == 1, "the next tick goes on from the newest"
    assert Decision.objects.filter(job=job, outcome="start", tick=None).count() == 1
    assert UsageInterval.objects.count() == usage


def test_what_is_young_or_explains_a_waiting_job_stays(tiny):
    vision = tiny.tenant("vision", gpus=64)
    tiny.running(vision, gpus=64, tier="production")
    waiting = tiny.submit(vision, gpus=8)
    tiny.tick()
    make_old(Explanation.objects, "evaluated_at", KEEP_TICKS)

    gone = tidy()

    assert gone == {"events": 0, "ticks": 0, "explanations": 0}
    assert Decision.objects.get(job=waiting, superseded_at=None).explanation is not None
