"""One reader of the event table per web process, for all the pages that are open there.

It starts with the first page and stops with the last. It reads once a second; in server mode a message from
whoever appended an event wakes it sooner. Such messages carry nothing, so nothing is lost with them.
"""

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Protocol

from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from django.conf import settings
from django.db import DatabaseError, InterfaceError

from cluster.deployment import Mode
from cluster.services.append_event import WAKE_GROUP
from cluster.stream import source
from cluster.stream.order import InOrder
from cluster.stream.source import EventRow, Watcher
from tenancy.permissions import Grants

POLL_S = 1.0
GAP_POLL_S = 0.25
LEAST_PAUSE_S = 0.1  # a burst of wake-ups is one read
PULSE_S = 15.0
LONGEST_BACK_OFF_S = 30.0

logger = logging.getLogger(__name__)


class Subscriber(Protocol):
    """A page's connection. Both calls return at once: a slow page must not hold up the others."""

    @property
    def watcher(self) -> Watcher: ...

    def offer(self, events: Sequence[EventRow], grants: Grants | None) -> None:
        """New events, in order, with the user's rights as they are now; None = no longer signed in."""

    def pulse(self, cursor: int) -> None:
        """The table was read up to the cursor a moment ago, and nothing new was there."""


class Tail:
    def __init__(self) -> None:
        self._subscribers: set[Subscriber] = set()
        self._task: asyncio.Task[None] | None = None
        self._order: InOrder | None = None
        self._woken = asyncio.Event()
        self._ready = asyncio.Event()
        self._pulsed_at = 0.0

    @property
    def is_running(self) -> bool:
        return self._task is not None

    async def join(self, subscriber: Subscriber) -> None:
        """Events from now on go to this subscriber; returns once the present cursor is known."""
        self._subscribers.add(subscriber)
        if self._task is None:
            self._woken, self._ready, self._pulsed_at = asyncio.Event(), asyncio.Event(), time.monotonic()
            self._task = asyncio.create_task(self._run(), name="event tail")
        await self._ready.wait()

    async def leave(self, subscriber: Subscriber) -> None:
        self._subscribers.discard(subscriber)
        if not self._subscribers and self._task is not None:
            task, self._task, self._order = self._task, None, None
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    @property
    def cursor(self) -> int:
        """Everything up to here has been given out."""
        if self._order is None:
            raise RuntimeError("the tail has not started: join it first")
        return self._order.cursor

    async def _run(self) -> None:
        listener = asyncio.create_task(self._listen(), name="event wake-up")
        back_off_s = POLL_S
        try:
            while True:
                try:
                    more = await self._read_and_give()
                except (DatabaseError, InterfaceError, OSError) as error:
                    logger.warning("events cannot be read, trying again in %.0f s: %s", back_off_s, error)
                    await asyncio.sleep(back_off_s)
                    back_off_s = min(LONGEST_BACK_OFF_S, back_off_s * 2)
                    continue
                except Exception:  # a fault in one batch must not silence every page until the next restart
                    logger.exception("a batch of events was not given out")
                    more = False
                back_off_s = POLL_S
                if not more:
                    await self._pause()
        finally:
            listener.cancel()
            with suppress(asyncio.CancelledError):
                await listener

    async def _pause(self) -> None:
        """Until a wake-up or the next poll; a row behind a gap is looked at again soon."""
        longest_s = min(POLL_S, GAP_POLL_S) if self._order and self._order.is_waiting else POLL_S
        await asyncio.sleep(LEAST_PAUSE_S)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), longest_s - LEAST_PAUSE_S)
        self._woken.clear()

    async def _read_and_give(self) -> bool:
        """One round. True if the batch was full, so that there is more at once."""
        if self._order is None:
            head, gaps_fill = await database_sync_to_async(_start)()
            self._order = InOrder(head, gaps_fill=gaps_fill)
            self._ready.set()
        order = self._order
        writers = await database_sync_to_async(source.writers)() if order.is_waiting else None
        rows = await database_sync_to_async(source.after)(order.cursor)
        grants = await self._grants() if rows else {}
        # From here on nothing waits: the cursor moves only together with what is given out.
        settled = order.settle(rows, time.monotonic(), writers)
        if settled:
            self._give(settled, grants)
        else:
            self._pulse(order.cursor)
        return bool(settled) and len(rows) == source.BATCH

    async def _grants(self) -> dict[Watcher, Grants | None]:
        """Everybody's rights; None for who has none any more. Again for those who joined meanwhile."""
        known: dict[Watcher, Grants | None] = {}
        while missing := {subscriber.watcher for subscriber in self._subscribers} - set(known):
            found = await database_sync_to_async(source.grants_of)(missing)
            known |= {watcher: found.get(watcher) for watcher in missing}
        return known

    def _give(self, events: Sequence[EventRow], grants: Mapping[Watcher, Grants | None]) -> None:
        self._pulsed_at = time.monotonic()
        for subscriber in list(self._subscribers):
            subscriber.offer(events, grants[subscriber.watcher])

    def _pulse(self, cursor: int) -> None:
        if time.monotonic() - self._pulsed_at > PULSE_S:
            self._pulsed_at = time.monotonic()
            for subscriber in list(self._subscribers):
                subscriber.pulse(cursor)

    async def _listen(self) -> None:
        """Server mode: is woken when somebody says that there is news. Without Redis the poll remains."""
        if settings.LOCKSTEP_MODE is not Mode.SERVER:
            return
        layer = get_channel_layer()
        while True:
            try:
                channel = await layer.new_channel()
                await layer.group_add(WAKE_GROUP, channel)
                while True:
                    await layer.receive(channel)
                    self._woken.set()
            except asyncio.CancelledError:
                raise
            except Exception as error:  # whatever the layer's client raises when Redis goes away
                logger.warning("no wake-ups, events are read once a second: %s", error)
                await asyncio.sleep(5)


def _start() -> tuple[int, bool]:
    return source.head(), source.gaps_fill()


tail = Tail()
