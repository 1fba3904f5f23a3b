"""What people and the world do in the demo's first hours beside the workload: each shows one thing."""

from datetime import datetime, timedelta

from cluster.demo.history import Happening
from cluster.engines.simulated import lose_node
from cluster.models import Job, JobState
from cluster.services.drain_node import drain_node
from cluster.services.hold_job import hold_job
from fleet.models import Node
from tenancy.models import User

LOST_NODE, REPAIR_S = "h100-019", 5 * 3600.0
DRAINED_NODE = "a100-060"


def happenings(end: datetime) -> list[Happening]:
    """A node is lost, another is drained by its owner, and a waiting job is put on hold."""
    return [
        (end - timedelta(hours=3), lambda: lose_node(LOST_NODE, repair_s=REPAIR_S)),
        (end - timedelta(hours=2), _drain),
        (end - timedelta(minutes=40), _hold),
    ]


def _drain() -> None:
    node = Node.objects.get(name=DRAINED_NODE)
    drain_node(
        by=User.objects.get(username="owner"), node=node, reason="firmware update of the network cards"
    )


def _hold() -> None:
    """The youngest waiting job of one node or less, so that nothing large is kept from running by it."""
    waiting = Job.objects.filter(state=JobState.PENDING, admin_hold=False, gpus__lte=8).order_by("-queued_at")
    job = waiting.first()
    if job is not None:
        reason = "the dataset's licence is being cleared"
        hold_job(by=User.objects.get(username="owner"), job=job, reason=reason)
