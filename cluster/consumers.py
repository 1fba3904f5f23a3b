"""The websocket of a page: it names its topics and a cursor, and gets small messages from there on.

The event row is the truth and the message a convenience: whoever cannot be told exactly is told to refetch.
"""

import asyncio
import json
import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.db import DatabaseError, InterfaceError

from cluster.stream import source
from cluster.stream.source import EventRow, Watcher
from cluster.stream.tail import tail
from cluster.stream.topics import Topic, find_topics, small_data
from tenancy.permissions import Grants

SIGNED_OUT = 4401
BAD_MESSAGE = 4400
TRY_AGAIN = 1013
MOST_TOPICS = 50
MOST_WAITING = 500
MOST_REPLAYED = 2000

Message = dict[str, Any]
logger = logging.getLogger(__name__)


class BadMessage(Exception):
    """What the page sent is not of the protocol; says what is wrong."""


class LiveConsumer(AsyncWebsocketConsumer):
    """One page. Topics are authorised when subscribed and again with every message."""

    watcher: Watcher

    async def connect(self) -> None:
        await self.accept()  # refused before, the browser could not tell "signed out" from "server away"
        user = self.scope.get("user")
        if user is None or not user.is_authenticated:
            await self.close(SIGNED_OUT)
            return
        session = self.scope.get("session")
        self.watcher = Watcher(user.pk, session.session_key if session else None)
        self._topics: dict[str, Topic] = {}
        self._sent: dict[str, int] = {}  # topic → the last cursor told on this connection
        self._waiting: asyncio.Queue[Message | int] = asyncio.Queue(MOST_WAITING)
        self._telling = asyncio.Lock()
        await tail.join(self)
        self._writer = asyncio.create_task(self._write())
        self._joined_at = tail.cursor
        await self._tell({"type": "hello", "cursor": self._joined_at})

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:  # not in disconnect(), which is left out where a fault or the server ends the connection
            if writer := getattr(self, "_writer", None):
                writer.cancel()
            if hasattr(self, "watcher"):
                await tail.leave(self)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        try:
            names, cursor = _subscription(text_data)
            if len(self._topics.keys() | set(names)) > MOST_TOPICS:
                raise BadMessage(f"topics: at most {MOST_TOPICS} on one connection")
        except BadMessage as error:
            await self._tell({"type": "error", "message": str(error)})
            await self.close(BAD_MESSAGE)
            return
        try:
            await self._subscribe(names, cursor)
        except (DatabaseError, InterfaceError, OSError) as error:
            logger.warning("a page could not subscribe and will try again: %s", error)
            await self.close(TRY_AGAIN)

    async def _subscribe(self, names: Sequence[str], cursor: int | None) -> None:
        topics, grants = await database_sync_to_async(self._look_up)(names)
        if grants is None:
            await self.close(SIGNED_OUT)
            return
        allowed = {name: topic for name, topic in topics.items() if topic.is_open_to(grants)}
        for name in names:
            if name not in allowed:  # a topic that is not there is denied too: ids cannot be probed
                await self._tell({"type": "denied", "topic": name})
        async with self._telling:
            # Registered before the past is read, and the writer waits: nothing falls in between.
            start = tail.cursor
            begin = self._joined_at if cursor is None else cursor
            self._topics |= allowed
            self._sent |= dict.fromkeys(allowed, begin)
            await self._replay(allowed, begin, start, grants)

    async def _replay(self, topics: dict[str, Topic], begin: int, start: int, grants: Grants) -> None:
        """What happened after `begin` up to `start`, or the advice to refetch where that cannot be told."""
        if begin > start:  # drawn from newer rows than the tail has read, or of another database
            newest, events = await database_sync_to_async(source.newest)(), []
        else:
            newest = start
            events = await database_sync_to_async(source.after)(begin, upto=start, limit=MOST_REPLAYED + 1)
        if len(events) > MOST_REPLAYED or begin > newest:
            for name in topics:
                self._sent[name] = start
                await self._tell({"type": "refetch", "topic": name, "cursor": start})
            return
        for event in events:
            for name in topics.keys() & set(event.topics):
                await self._tell_event(_message(name, event, grants))

    # --- Called by the tail; both return at once ---------------------------------------------------------

    def offer(self, events: Sequence[EventRow], grants: Grants | None) -> None:
        if grants is None:
            self._put(SIGNED_OUT)
            return
        for event in events:
            for name in self._topics.keys() & set(event.topics):
                if self._topics[name].is_open_to(grants):
                    self._put(_message(name, event, grants))
                else:
                    del self._topics[name]
                    self._put({"type": "denied", "topic": name})

    def pulse(self, cursor: int) -> None:
        self._put({"type": "hello", "cursor": cursor})

    def _put(self, message: Message | int) -> None:
        """Into the queue of this page. One that reads too slowly loses messages and is told to refetch."""
        if self._waiting.full():
            while not self._waiting.empty():
                self._waiting.get_nowait()
            for name in self._topics:
                self._waiting.put_nowait({"type": "refetch", "topic": name, "cursor": tail.cursor})
        self._waiting.put_nowait(message)

    # --- To the page -------------------------------------------------------------------------------------

    async def _write(self) -> None:
        while True:
            message = await self._waiting.get()
            async with self._telling:
                if isinstance(message, int):
                    await self.close(message)
                    return
                if message["type"] == "event":
                    await self._tell_event(message)
                else:
                    if message["type"] == "refetch":
                        self._sent[message["topic"]] = message["cursor"]
                    await self._tell(message)

    async def _tell_event(self, message: Message) -> None:
        """With the cursor that this page was told before of the same topic; what it has had is left out."""
        name, previous = message["topic"], self._sent.get(message["topic"], 0)
        if message["cursor"] <= previous:
            return
        self._sent[name] = message["cursor"]
        await self._tell({**message, "previous": previous})

    async def _tell(self, message: Message) -> None:
        with suppress(RuntimeError):  # the page may be gone already; disconnect() follows
            await self.send(json.dumps(message))

    def _look_up(self, names: Sequence[str]) -> tuple[dict[str, Topic], Grants | None]:
        return find_topics(names), source.grants_of([self.watcher]).get(self.watcher)


def _message(topic: str, event: EventRow, grants: Grants) -> Message:
    return {
        "type": "event",
        "topic": topic,
        "cursor": event.id,
        "kind": event.kind,
        "data": small_data(event, grants),
    }


def _subscription(text: str | None) -> tuple[list[str], int | None]:
    """The topics and the cursor of a subscribe message. Raises BadMessage naming the field."""
    try:
        content = json.loads(text or "")
    except ValueError as error:
        raise BadMessage(f"not JSON: {error}") from error
    if not isinstance(content, dict) or content.get("type") != "subscribe":
        raise BadMessage('type: only "subscribe" is known')
    topics, cursor = content.get("topics"), content.get("cursor")
    if not isinstance(topics, list) or not all(isinstance(name, str) and len(name) < 100 for name in topics):
        raise BadMessage("topics: give a list of names")
    if cursor is not None and (not isinstance(cursor, int) or isinstance(cursor, bool) or cursor < 0):
        raise BadMessage("cursor: give the number of the last event seen, or null")
    return list(dict.fromkeys(topics)), cursor
