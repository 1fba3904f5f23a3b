"""What only PostgreSQL and Redis do: commits out of order, and wake-ups across processes."""

import asyncio
import threading

import pytest
from channels.db import database_sync_to_async
from django.conf import settings
from django.db import connection, transaction

from cluster.deployment import Mode
from cluster.selectors.cursor import settled_cursor
from cluster.services.append_event import wake
from cluster.stream import tail as tail_module
from tenancy.models import Role
from tests.stream.conftest import aappend, append, person

pytestmark = pytest.mark.django_db(transaction=True)
needs_postgresql = pytest.mark.skipif(
    not settings.DATABASES["default"]["ENGINE"].endswith("postgresql"),
    reason="needs PostgreSQL: set DATABASE_URL (ids commit in order on SQLite)",
)
needs_redis = pytest.mark.skipif(
    settings.LOCKSTEP_MODE is not Mode.SERVER, reason="needs Redis: set REDIS_URL"
)


class SlowWriter:
    """Appends an event in a transaction of its own that stays open until told how to end."""

    def __init__(self):
        self.appended, self.go = threading.Event(), threading.Event()
        self.cursor, self.keep = None, True
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        assert self.appended.wait(5)

    def _run(self):
        try:
            with transaction.atomic():
                self.cursor = append(kind="slow")
                self.appended.set()
                self.go.wait(20)
                transaction.set_rollback(not self.keep)
        finally:
            connection.close()

    def end(self, *, keep: bool):
        self.keep = keep
        self.go.set()
        self._thread.join()


@needs_postgresql
async def test_an_event_that_commits_late_is_told_before_its_successor(open_page):
    page = await open_page(await person("olga", Role.CLUSTER_OWNER))
    await page.subscribe("queue")
    slow = await asyncio.to_thread(SlowWriter)
    quick = await aappend(kind="quick")
    assert slow.cursor < quick
    assert await page.hears_nothing()
    await asyncio.to_thread(slow.end, keep=True)
    assert [(await page.hears())["cursor"] for _ in range(2)] == [slow.cursor, quick]


@needs_postgresql
async def test_an_event_that_is_rolled_back_holds_its_successor_up_only_until_then(open_page):
    page = await open_page(await person("olga", Role.CLUSTER_OWNER))
    await page.subscribe("queue")
    slow = await asyncio.to_thread(SlowWriter)
    quick = await aappend(kind="quick")
    await asyncio.to_thread(slow.end, keep=False)
    assert (await page.hears())["cursor"] == quick


@needs_postgresql
def test_a_page_drawn_while_an_event_is_still_open_starts_before_it():
    before = append()
    slow = SlowWriter()
    append(kind="quick")
    assert settled_cursor() == before
    slow.end(keep=True)
    assert settled_cursor() > slow.cursor


@needs_redis
async def test_a_wake_up_makes_the_page_hear_at_once(open_page, monkeypatch):
    monkeypatch.setattr(tail_module, "POLL_S", 60.0)
    page = await open_page(await person("olga", Role.CLUSTER_OWNER))
    await page.subscribe("queue")
    await asyncio.sleep(0.3)  # the listener has joined its group
    cursor = await aappend()
    await database_sync_to_async(wake)()
    assert (await page.hears())["cursor"] == cursor
