import asyncio
import contextlib
import json

import pytest
from asgiref.testing import ApplicationCommunicator
from channels.db import database_sync_to_async
from django.utils import timezone

from cluster.consumers import LiveConsumer
from cluster.models import Event
from cluster.stream import tail as tail_module
from cluster.stream.tail import tail
from tenancy.models import Membership, Role, Tenant, User


@pytest.fixture(autouse=True)
def quick_polls(monkeypatch):
    monkeypatch.setattr(tail_module, "POLL_S", 0.05)
    monkeypatch.setattr(tail_module, "LEAST_PAUSE_S", 0.01)


def append(kind="job_submitted", topics=("queue",), **fields) -> int:
    return Event.objects.create(kind=kind, topics=list(topics), at=timezone.now(), **fields).pk


aappend = database_sync_to_async(append)


@database_sync_to_async
def person(name: str, role: Role, tenant: Tenant | None = None) -> User:
    user = User.objects.create_user(name)
    Membership.objects.create(user=user, role=role, tenant=tenant)
    return user


@database_sync_to_async
def team(name: str) -> Tenant:
    return Tenant.objects.create(name=name)


class Page:
    """A browser's page with an open connection."""

    def __init__(self, user, session=None):
        scope = {"type": "websocket", "path": "/ws/live/", "user": user, "session": session}
        self.socket = ApplicationCommunicator(LiveConsumer.as_asgi(), scope)

    async def connect(self):
        await self.socket.send_input({"type": "websocket.connect"})
        assert (await self.socket.receive_output(5))["type"] == "websocket.accept"

    async def disconnect(self):
        await self.socket.send_input({"type": "websocket.disconnect", "code": 1000})
        with contextlib.suppress(asyncio.CancelledError):  # a failed wait has ended the consumer already
            await self.socket.wait(5)

    async def says(self, text):
        await self.socket.send_input({"type": "websocket.receive", "text": text})

    async def subscribe(self, *topics, cursor=None):
        await self.says(json.dumps({"type": "subscribe", "topics": list(topics), "cursor": cursor}))

    async def hears(self):
        message = await self.socket.receive_output(3)
        assert message["type"] == "websocket.send", message
        return json.loads(message["text"])

    async def hears_nothing(self):
        return await self.socket.receive_nothing(timeout=0.3, interval=0.02)

    async def is_closed_with(self):
        message = await self.socket.receive_output(3)
        assert message["type"] == "websocket.close", message
        return message["code"]


@pytest.fixture
async def open_page():
    async with contextlib.AsyncExitStack() as stack:

        async def open_(user, **kwargs) -> Page:
            page = Page(user, **kwargs)
            await page.connect()
            stack.push_async_callback(page.disconnect)
            hello = await page.hears()
            assert hello["type"] == "hello"
            page.hello = hello["cursor"]
            return page

        yield open_
    await asyncio.sleep(0)
    assert not tail.is_running, "the tail outlived its last page"
