"""Drain a node and resume it. A person's drain is sticky: no machine lifts it."""

from django.core.exceptions import ValidationError
from django.db import transaction

from cluster import clock
from cluster.services.append_event import append_event, new_event
from fleet.models import Node
from tenancy.models import User
from tenancy.permissions import Action, may, require


@transaction.atomic
def drain_node(*, by: User, node: Node, reason: str) -> Node:
    """The node, taking no new work; what runs there runs on. Raises NotAllowed or ValidationError."""
    require(may(by, Action.CHANGE_NODE), Action.CHANGE_NODE, "the cluster")
    if not reason.strip():
        raise ValidationError({"reason": "say why the node is drained: the next on duty will read it"})
    asked = Node.objects.filter(pk=node.pk, drain_asked_at=None).update(
        drain_by=by, drain_reason=reason.strip()[:200], drain_asked_at=clock.now()
    )
    node.refresh_from_db()
    if not asked:
        raise ValidationError(f"{node.name} is drained already by {node.drain_by}: {node.drain_reason}")
    _tell(node, "node.drain", by, reason.strip())
    return node


@transaction.atomic
def resume_node(*, by: User, node: Node) -> Node:
    """The node, taking work again unless its state forbids it. Raises NotAllowed or ValidationError."""
    require(may(by, Action.CHANGE_NODE), Action.CHANGE_NODE, "the cluster")
    resumed = Node.objects.filter(pk=node.pk, drain_asked_at__isnull=False).update(
        drain_by=None, drain_reason="", drain_asked_at=None
    )
    if not resumed:
        raise ValidationError(f"{node.name} is not drained: its state is {node.get_state_display()}")
    node.refresh_from_db()
    _tell(node, "node.resume", by, "")
    return node


def _tell(node: Node, kind: str, by: User, reason: str) -> None:
    data = {"node": node.name, "by": str(by), "reason": reason}
    topics = ["nodes", "capacity"]
    append_event(new_event(kind, at=clock.now(), topics=topics, node_id=node.pk, data=data))
