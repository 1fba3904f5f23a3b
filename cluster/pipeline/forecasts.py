"""Refresh the expected starts. Its own task: the replay may take seconds and must not hold up a tick."""

from datetime import UTC, datetime

from django.db import transaction

from cluster.models import Forecast
from cluster.pipeline.observe import observe
from cluster.scheduler.forecast import StartForecast, forecast
from cluster.services.append_event import append_events, new_event

MOST_SHAPES_FOR_ALL_SAMPLES = 200


def refresh(at: datetime) -> int:
    """Replay the queue forward and store what comes out. Gives the number of jobs foreseen."""
    observed = observe(at)
    if not observed.jobs:
        Forecast.objects.all().delete()
        return 0
    many = len(observed.world.queues) > MOST_SHAPES_FOR_ALL_SAMPLES
    # A long queue gets fewer and shorter replays: what lies beyond stays blank.
    found = forecast(observed.world, samples=3 if many else 8, most_ticks=40 if many else 400)
    return _store(found, at, set(observed.jobs))


@transaction.atomic
def _store(found: dict[int, StartForecast], at: datetime, pending: set[int]) -> int:
    Forecast.objects.all().delete()
    rows = [
        Forecast(
            job_id=job_id,
            median_at=_moment(f.median_s),
            p90_at=_moment(f.p90_s),
            samples=f.samples,
            computed_at=at,
        )
        for job_id, f in found.items()
        if job_id in pending
    ]
    Forecast.objects.bulk_create(rows, batch_size=500)
    append_events([new_event("forecast", at=at, topics=["queue"], data={"jobs": len(rows)})])
    return sum(1 for row in rows if row.median_at is not None)


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
