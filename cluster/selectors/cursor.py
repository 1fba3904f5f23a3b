"""The cursor from which a page follows: everything up to it is in what the page has just read."""

from datetime import timedelta
from itertools import pairwise

from django.db import connection
from django.utils import timezone

from cluster.models import Event
from cluster.stream.order import LONGEST_GAP_S

_RECENT_ROWS = 500


def settled_cursor() -> int:
    """The id of the newest event below which nothing can appear any more; 0 without events.

    To be read before the rows of the page are: an event in between is then told twice, never lost.
    """
    newest_first = Event.objects.order_by("-id")
    if connection.vendor == "sqlite":  # one writer at a time: ids are committed in their order
        return newest_first.values_list("id", flat=True).first() or 0
    rows = list(newest_first.values_list("id", "wall_at")[:_RECENT_ROWS])
    old_enough = timezone.now() - timedelta(seconds=LONGEST_GAP_S)
    cursor = rows[0][0] if rows else 0
    for (newer, seen_at), (older, _) in pairwise(rows):
        if seen_at < old_enough:
            break  # whatever is missing before this one is not coming
        if newer != older + 1:
            cursor = older
    return cursor
