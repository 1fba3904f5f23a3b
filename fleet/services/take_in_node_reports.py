"""Reports of an engine about its nodes → evidence and node states."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from fleet.models import EvidenceKind, Node, NodeState
from fleet.services.record_evidence import record_evidence


class Report(Protocol):
    """What an engine sees of a node: alive, lost (False) or unknown (None), and since when."""

    node: str
    alive: bool | None
    at: datetime
    since: datetime | None


@dataclass(frozen=True, slots=True)
class NodeChange:
    node: Node
    state: NodeState
    at: datetime
    reason: str


LOST = "no sign of life"


def take_in_node_reports(reports: Iterable[Report], source: str) -> list[NodeChange]:
    """Bring node states up to the reports, and say what changed.

    A lost node takes no work. One that comes back is eligible again only if being lost was all that was
    known against it: what a person or a gate decided stays. A report that does not know changes nothing.
    """
    nodes = {node.name: node for node in Node.objects.all()}
    changes, heard = [], []
    for report in reports:
        node = nodes.get(report.node)
        if node is None or report.alive is None:
            continue
        if report.alive:
            node.last_seen_at = report.at
            heard.append(node)
        change = _change(node, report)
        if change is not None:
            changes.append(_make(change, source))
    Node.objects.bulk_update(heard, ["last_seen_at"], batch_size=500)
    return changes


def _change(node: Node, report: Report) -> NodeChange | None:
    since = report.since or report.at
    if not report.alive and node.state == NodeState.ELIGIBLE:
        return NodeChange(node, NodeState.REPAIR, since, LOST)
    if report.alive and node.state == NodeState.REPAIR and node.state_reason == LOST:
        return NodeChange(node, NodeState.ELIGIBLE, since, "")
    return None


def _make(change: NodeChange, source: str) -> NodeChange:
    node = change.node
    node.state, node.state_reason = change.state, change.reason
    node.state_since = max(change.at, node.state_since)
    node.save(update_fields=["state", "state_reason", "state_since"])
    kind = EvidenceKind.NODE_BACK if change.state == NodeState.ELIGIBLE else EvidenceKind.NODE_LOST
    record_evidence(
        node=node,
        kind=kind,
        seen_at=change.at,
        source=source,
        detail=change.reason,
        key=f"{kind}:{node.pk}:{change.at.timestamp():.3f}",
    )
    return change
