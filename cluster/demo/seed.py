"""A database with a living demonstration, made once: cluster, people, workload and some hours of history."""

from django.contrib.auth.hashers import make_password
from django.db import transaction

from cluster.demo.generated_demo import seed_generated
from cluster.demo.trace_demo import seed_trace
from cluster.engines.simulated import SimulatedEngine, start_clock
from cluster.models import Event, SimulatedClock
from cluster.services.append_event import append_event, new_event
from fleet.models import Node
from tenancy.models import Membership, Role, User

PASSWORD = "lockstep-demo"  # noqa: S105  # of the demonstration's own people; printed at every start
SPEED = 60.0
SEED = 20_170_904
SEEDED = "demo_seeded"
ROLE_WORDS = {
    Role.CLUSTER_OWNER: "cluster owner: may change everything",
    Role.TENANT_ADMIN: "tenant admin: runs one tenant",
    Role.RELEASE_OWNER: "release owner: nodes and acceptance",
    Role.RESEARCHER: "researcher: submits jobs",
    Role.VIEWER: "viewer: looks on",
}


def ensure_demo(trace: str | None = None, speed: float | None = None, seed: int = SEED) -> None:
    """Seed an empty database; one that has nodes keeps them, and only the speed is set if one is given.

    Raises TraceError or ImportRefused, which name file, place and value, when a trace cannot be used.
    """
    if Node.objects.exists():
        _go_on(speed)
        return
    # All or nothing: a seeding that is broken off leaves an empty database. One transaction is faster, too.
    with transaction.atomic():
        names, notes = seed_generated(seed) if trace is None else seed_trace(trace, seed)
        _set_passwords(names)
        data = {"sign_ins": list(names), "notes": notes, "trace": trace or "", "seed": seed}
        append_event(new_event(SEEDED, at=SimulatedEngine().now(), topics=[], data=data))
        start_clock(speed or SPEED)


def _go_on(speed: float | None) -> None:
    if speed is not None and SimulatedClock.objects.filter(name="clock").exists():
        start_clock(speed)


def _set_passwords(names: tuple[str, ...]) -> None:
    """One password for all sign-ins, hashed once: hashing is meant to be slow."""
    User.objects.filter(username__in=names).update(password=make_password(PASSWORD))


def sign_ins() -> list[tuple[str, str, str]]:
    """(user name, password, role in words) of the demonstration's people; empty on a real installation."""
    seeded = Event.objects.filter(kind=SEEDED).order_by("-id").first()
    if seeded is None:
        return []
    roles = dict(Membership.objects.values_list("user__username", "role"))
    return [
        (name, PASSWORD, ROLE_WORDS[Role(roles[name])]) for name in seeded.data["sign_ins"] if name in roles
    ]


def demo_notes() -> list[str]:
    """What the demonstration assumes, in whole sentences; empty on a real installation."""
    seeded = Event.objects.filter(kind=SEEDED).order_by("-id").first()
    return list(seeded.data["notes"]) if seeded is not None else []
