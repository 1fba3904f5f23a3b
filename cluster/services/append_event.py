"""Append to the event log. The row is the truth; waking the browsers is a hint that may get lost."""

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.conf import settings
from django.db import transaction

from cluster.models import Event

log = logging.getLogger(__name__)
WAKE_GROUP = "events"


def new_event(
    kind: str,
    *,
    at: datetime,
    topics: Sequence[str],
    tenant_id: int | None = None,
    job_id: int | None = None,
    node_id: int | None = None,
    data: dict[str, Any] | None = None,
) -> Event:
    """An event, not yet written."""
    return Event(
        kind=kind,
        at=at,
        topics=list(topics),
        tenant_id=tenant_id,
        job_id=job_id,
        node_id=node_id,
        data=data or {},
    )


def job_event(kind: str, job: Any, /, *, at: datetime, **data: Any) -> Event:
    """An event of one job (anything with `pk`, `tenant_id`), on the topics that show it."""
    topics = ["queue", f"job:{job.pk}"]
    return new_event(kind, at=at, topics=topics, tenant_id=job.tenant_id, job_id=job.pk, data=data)


def append_events(events: Sequence[Event]) -> None:
    """Write events in order; after commit, wake the web processes."""
    if events:
        Event.objects.bulk_create(events)
        transaction.on_commit(wake)


def append_event(event: Event) -> None:
    append_events([event])


def wake() -> None:
    """In server mode tell the web processes to look at once; they look by themselves anyway."""
    if not getattr(settings, "REDIS_URL", ""):
        return
    layer = get_channel_layer()
    try:
        async_to_sync(layer.group_send)(WAKE_GROUP, {"type": "events.wake"})
    except Exception:  # the hint is not worth a failed tick
        log.warning("could not wake the web processes", exc_info=True)
