"""What the tail reads from the database. Synchronous: the tail calls it in a thread."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.sessions.models import Session
from django.db import connection
from django.utils import timezone

from cluster.models import Event
from cluster.selectors.cursor import settled_cursor
from tenancy.permissions import Grants

BATCH = 500


@dataclass(frozen=True, slots=True)
class EventRow:
    """One event as it goes over the wire."""

    id: int
    kind: str
    topics: Sequence[str]
    tenant_id: int | None
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Watcher:
    """Whose rights are asked: a user, and the session they came with (None for a token)."""

    user_id: int
    session_key: str | None


def gaps_fill() -> bool:
    """May an id appear after a higher one did?"""
    return connection.vendor != "sqlite"


def head() -> int:
    return settled_cursor()


def newest() -> int:
    """The highest id that is visible, settled or not."""
    return Event.objects.order_by("-id").values_list("id", flat=True).first() or 0


def after(cursor: int, *, upto: int | None = None, limit: int = BATCH) -> list[EventRow]:
    """The visible events after the cursor, in the order of their ids."""
    rows = Event.objects.filter(id__gt=cursor).order_by("id")
    if upto is not None:
        rows = rows.filter(id__lte=upto)
    fields = rows.values_list("id", "kind", "topics", "tenant_id", "data")[:limit]
    return [EventRow(*values) for values in fields]


def writers() -> frozenset[str] | None:
    """The transactions that have written events and are still open; None where the database does not say.

    PostgreSQL takes the lock on the table before the statement takes an id, and keeps it to the end.
    """
    if connection.vendor != "postgresql":
        return None
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT virtualtransaction FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database "
            "WHERE datname = current_database() AND locktype = 'relation' AND relation = %s::regclass "
            "AND mode = 'RowExclusiveLock'",
            [Event._meta.db_table],
        )
        return frozenset(row[0] for row in cursor.fetchall())


def grants_of(watchers: Iterable[Watcher]) -> dict[Watcher, Grants]:
    """The present rights of everyone who watches. Who was deactivated or signed out is missing.

    Read anew for every batch: a role taken away counts from the next message, not from the next connection.
    """
    watchers = set(watchers)
    users = get_user_model().objects.filter(is_active=True).in_bulk({w.user_id for w in watchers})
    keys = {w.session_key for w in watchers if w.session_key}
    alive = Session.objects.filter(session_key__in=keys, expire_date__gt=timezone.now())
    sessions = set(alive.values_list("session_key", flat=True)) | {None}
    grants = Grants.of_many(users.values())
    return {w: grants[w.user_id] for w in watchers if w.user_id in grants and w.session_key in sessions}
