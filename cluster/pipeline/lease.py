"""One leader ticks at a time. The fence grows with every new holder; what a late one writes is refused."""

import os
import socket
import uuid
from datetime import timedelta

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from cluster.models import TickLease

NAME = "tick"
TTL_S = 30.0
_MARK = uuid.uuid4().hex[:8]


def this_process() -> str:
    """The name under which this process holds the lease. Asked each time: a forked worker is another one."""
    return f"{socket.gethostname()[:24]}-{os.getpid()}-{_MARK}"


class LeaseLost(Exception):
    """Somebody else ticks now; nothing of this tick may be applied."""


@transaction.atomic
def acquire(holder: str, ttl_s: float = TTL_S) -> int | None:
    """The fence of a lease now held by `holder`, or None while it is held: by another, or by itself."""
    moment = timezone.now()
    TickLease.objects.get_or_create(name=NAME)
    free = Q(expires_at__isnull=True) | Q(expires_at__lte=moment)
    taken = TickLease.objects.filter(free, name=NAME).update(
        holder=holder, fence=F("fence") + 1, expires_at=moment + timedelta(seconds=ttl_s)
    )
    return TickLease.objects.get(name=NAME).fence if taken else None


def confirm(fence: int, ttl_s: float = TTL_S) -> None:
    """Hold on to the lease inside a transaction: its row stays locked to the end. Raises LeaseLost."""
    held = TickLease.objects.filter(name=NAME, fence=fence).update(
        expires_at=timezone.now() + timedelta(seconds=ttl_s)
    )
    if not held:
        raise LeaseLost(f"fence {fence} is no longer the newest")


def release(fence: int) -> None:
    TickLease.objects.filter(name=NAME, fence=fence).update(expires_at=None)
