"""One small cluster in full swing, and people of every role to look at it."""

from dataclasses import dataclass

import pytest
from django.test import Client

from cluster.models import Job, RunState
from fleet.models import Node
from tests.factories import TinyCluster, TwoTenants

ROLES = ("cluster_owner", "tenant_admin", "release_owner", "researcher", "viewer")


@dataclass(frozen=True)
class Scene:
    """64 GPUs: `vision` runs 16, `speech` runs 32 of its own and 8 on loan; two gangs wait; a node is lost.

    The people of `two.people` belong to vision where their role is a tenant's.
    """

    two: TwoTenants
    ours: Job
    theirs: Job
    waits: Job
    their_wait: Job
    lost: str

    @property
    def tiny(self) -> TinyCluster:
        return self.two.tiny

    def client(self, role: str) -> Client:
        """A browser in which the person of this role has signed in."""
        client = Client()
        client.force_login(self.two.people[role])
        return client


@pytest.fixture
def scene(two_tenants: TwoTenants) -> Scene:
    tiny, vision, speech = two_tenants.tiny, two_tenants.vision, two_tenants.speech
    researcher = two_tenants.people["researcher"]
    ours = tiny.submit(
        vision, gpus=16, by=researcher, name="our-secret-run", dataset="faces", code_version="v@1"
    )
    theirs = tiny.submit(speech, gpus=40, name="their-secret-run", dataset="calls", tier="best_effort")
    tiny.tick()
    tiny.advance(120)
    waits = tiny.submit(vision, gpus=32, name="our-big-wait", by=researcher, tier="research")
    their_wait = tiny.submit(speech, gpus=24, name="their-wait", tier="best_effort")
    spare = Node.objects.exclude(allocations__run__state=RunState.RUNNING).first()
    assert spare is not None
    tiny.lose(spare.name)
    tiny.advance(60)
    return Scene(two_tenants, *(tiny.fresh(job) for job in (ours, theirs, waits, their_wait)), spare.name)


@pytest.fixture
def owner(scene: Scene) -> Client:
    """The cluster owner's browser."""
    return scene.client("cluster_owner")
