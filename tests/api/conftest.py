"""What tests of the API share: clients who are somebody, and a cluster in which something has happened."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from rest_framework.test import APIClient

from cluster.models import Job
from cluster.services.drain_node import drain_node
from fleet.models import Node
from tenancy.models import User
from tests.factories import TwoTenants

Client = Callable[..., APIClient]


@pytest.fixture
def client_of() -> Client:
    """A client that is signed in as a user; without one, it is nobody."""

    def client(user: User | None = None) -> APIClient:
        found = APIClient()
        if user is not None:
            found.force_login(user)
        return found

    return client


@dataclass(frozen=True)
class Busy:
    """Two tenants at work."""

    scene: TwoTenants
    running: Job
    """32 GPUs of vision, submitted by its researcher."""
    waiting: Job
    """48 more of vision: more than others leave idle."""
    foreign: Job
    """16 GPUs of speech, where only the cluster-wide roles belong."""

    @property
    def people(self) -> dict[str, User]:
        return self.scene.people


@pytest.fixture
def busy(two_tenants: TwoTenants) -> Busy:
    """Of 64 GPUs, 48 run, 8 are free and 8 are drained."""
    tiny, researcher = two_tenants.tiny, two_tenants.people["researcher"]
    drain_node(by=tiny.owner, node=Node.objects.get(name="p2b2n2"), reason="fan noise")
    running = tiny.submit(two_tenants.vision, gpus=32, by=researcher, checkpoint_interval_s=600, name="alpha")
    foreign = tiny.submit(two_tenants.speech, gpus=16, name="secret-voice", dataset="whispers")
    tiny.tick()
    tiny.advance(120)
    waiting = tiny.submit(two_tenants.vision, gpus=48, by=researcher, name="beta")
    tiny.advance(1200, every_s=300)  # within which an activity signal stays fresh
    return Busy(two_tenants, tiny.fresh(running), tiny.fresh(waiting), tiny.fresh(foreign))


def rows(answer: Any) -> list[dict[str, Any]]:
    """The rows of a list that was answered with 200."""
    assert answer.status_code == 200, answer.content
    found: list[dict[str, Any]] = answer.json()["results"]
    return found
