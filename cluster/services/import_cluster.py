"""Bring the database in line with a cluster description."""

from datetime import datetime

from django.db import transaction

from cluster.imports.description import ClusterDescription
from cluster.services.append_event import append_event, new_event
from cluster.services.importing.changes import Changes
from cluster.services.importing.nodes import import_nodes
from cluster.services.importing.people import import_people
from cluster.services.importing.tenants import import_tenants
from tenancy.models import PolicyVersion


def import_cluster(
    description: ClusterDescription,
    *,
    now: datetime,
    source: str = "",
    dry_run: bool = False,
    remove_missing: bool = False,
) -> Changes:
    """All of the description or nothing; what is already so is not touched. Gives back what was done.

    Nodes that the description does not name are listed; with `remove_missing` they are taken out.
    Raises NodeInUse when a node would change or vanish under running work.
    """
    changes = Changes()
    with transaction.atomic():
        import_nodes(description, changes, now=now, remove_missing=remove_missing)
        tenants = import_tenants(description, changes)
        import_people(description.users, tenants, changes)
        _publish_policy(description.policy, changes, now=now, source=source)
        if not changes.is_empty:
            _tell(changes, now, source)
        if dry_run:
            transaction.set_rollback(True)
    return changes


def _publish_policy(settings: dict[str, object], changes: Changes, *, now: datetime, source: str) -> None:
    """A new version when the file states other settings than those in force. None is ever edited."""
    newest = PolicyVersion.objects.order_by("-number").first()
    if newest is not None and (not settings or newest.settings == settings):
        return
    number = newest.number + 1 if newest else 1
    note = f"from {source}" if source else "imported"
    PolicyVersion.objects.create(number=number, settings=settings, published_at=now, note=note[:200])
    if newest is None:
        changes.create("policy", f"version {number}")
    else:
        changes.change("policy", f"version {number}", "settings", newest.settings, settings)


def _tell(changes: Changes, now: datetime, source: str) -> None:
    data = {
        "source": source,
        "created": {kind: len(names) for kind, names in changes.created.items()},
        "changed": len(changes.changed),
        "removed": {kind: len(names) for kind, names in changes.removed.items()},
    }
    append_event(new_event("cluster_imported", at=now, topics=["nodes", "tenants", "capacity"], data=data))
