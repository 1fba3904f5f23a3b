"""Let go of what nobody reads any more, so that a control room that ticks every second stays small.

Kept for good: jobs, runs, decisions, allocations, usage, preemptions and every event but the pulse. A tick's
costs and the pulse of capacity are for looking at the last days; the intervals behind them stay.
"""

from datetime import timedelta

from django.db.models import Model, QuerySet
from django.utils import timezone

from cluster.models import Decision, Event, Explanation, Tick

KEEP_TICKS = timedelta(days=7)
KEEP_PULSE = timedelta(hours=24)
PULSE = ("capacity", "forecast")
BATCH = 20_000
CHUNK = 500


def tidy() -> dict[str, int]:
    """Delete what is past its time, by the wall clock, a bounded batch of each. Gives the rows deleted."""
    moment = timezone.now()
    open_holds = Decision.objects.filter(superseded_at=None, explanation__isnull=False)
    # The next tick goes on from the newest, however long ago that was.
    newest = Tick.objects.values_list("pk", flat=True).first()
    unread = Explanation.objects.exclude(pk__in=open_holds.values_list("explanation_id", flat=True))
    return {
        "events": _delete(Event.objects.filter(kind__in=PULSE, wall_at__lt=moment - KEEP_PULSE)),
        "ticks": _delete(Tick.objects.filter(wall_at__lt=moment - KEEP_TICKS).exclude(pk=newest)),
        "explanations": _delete(unread.filter(evaluated_at__lt=moment - KEEP_TICKS)),
    }


def _delete(rows: QuerySet[Model]) -> int:
    """A batch by key in short statements, so that a tick never waits long for the database."""
    keys = list(rows.order_by("pk").values_list("pk", flat=True)[:BATCH])
    deleted = 0
    for start in range(0, len(keys), CHUNK):
        deleted += rows.model.objects.filter(pk__in=keys[start : start + CHUNK]).delete()[0]
    return deleted
