"""What happened, from the event log: the notable things of the cluster, and all of one job or node."""

from cluster.models import Event
from fleet.models import Node

NOTABLE = (
    "job.preempting",
    "job.requeued",
    "job.failed",
    "job.not_ready",
    "job.time_limit",
    "job.on_hold",
    "job.released",
    "node.eligible",
    "node.suspect",
    "node.quarantine",
    "node.repair",
    "node.validation",
    "node.drained",
    "node.not_accepted",
    "node.drain",
    "node.resume",
)
"""Left out: what every job does (submitted, held, started, running, completed)."""


def notable(limit: int = 10) -> list[Event]:
    """The last notable events, newest first."""
    rows = Event.objects.filter(kind__in=NOTABLE).select_related("job", "job__tenant", "node")
    # By their own time: an engine may report an end after things that happened later.
    return sorted(rows.order_by("-id")[:limit], key=lambda event: (event.at, event.pk), reverse=True)


def of_job(job_id: int, limit: int = 60) -> list[Event]:
    """The last events of one job, newest first."""
    return list(Event.objects.filter(job=job_id).select_related("job", "node").order_by("-id")[:limit])


def of_node(node: Node, limit: int = 30) -> list[Event]:
    return list(Event.objects.filter(node=node).select_related("job", "node").order_by("-id")[:limit])
