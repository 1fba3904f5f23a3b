"""Reports of an engine about its nodes → evidence and node states."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import starmap
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
class Known:
    """What is known of a node. Not the row itself: at every tick all of them are looked through."""

    pk: int
    name: str
    state: str
    state_reason: str
    state_since: datetime
    last_seen_at: datetime | None


@dataclass(frozen=True, slots=True)
class NodeChange:
    node: Known
    state: NodeState
    at: datetime
    reason: str


LOST = "no sign of life"


def take_in_node_reports(reports: Iterable[Report], source: str) -> list[NodeChange]:
    """Bring node states up to the reports, and say what changed.

    A lost node takes no work. One that comes back is eligible again only if being lost was all that was
    known against it: what a person or a gate decided stays. A report that does not know changes nothing.
    """
    nodes = {known.name: known for known in _all_known()}
    changes: list[NodeChange] = []
    heard: dict[datetime, list[int]] = {}
    for report in reports:
        node = nodes.get(report.node)
        if node is None or report.alive is None:
            continue
        change = _change(node, report)
        if change is not None and _make(change, source):
            changes.append(change)
        elif report.alive:
            _note_absence(node, report, source)
        if report.alive:
            heard.setdefault(report.at, []).append(node.pk)
    for at, alive in heard.items():
        Node.objects.filter(pk__in=alive).update(last_seen_at=at)
    return changes


def _all_known() -> Iterable[Known]:
    columns = ("pk", "name", "state", "state_reason", "state_since", "last_seen_at")
    return starmap(Known, Node.objects.order_by().values_list(*columns))


def _note_absence(node: Known, report: Report, source: str) -> None:
    """A node that was lost and came back between two reports has been lost all the same."""
    if report.since is None or node.last_seen_at is None or node.state != NodeState.ELIGIBLE:
        return
    if max(node.last_seen_at, node.state_since) < report.since:
        _record(node, EvidenceKind.NODE_BACK, report.since, source, "it was lost between two reports")


def _change(node: Known, report: Report) -> NodeChange | None:
    since = report.since or report.at
    if not report.alive and node.state == NodeState.ELIGIBLE:
        return NodeChange(node, NodeState.REPAIR, since, LOST)
    if report.alive and node.state == NodeState.REPAIR and node.state_reason == LOST:
        return NodeChange(node, NodeState.ELIGIBLE, since, "")
    return None


def _make(change: NodeChange, source: str) -> bool:
    """Write it, unless somebody has decided about the node since it was read."""
    node, since = change.node, max(change.at, change.node.state_since)
    as_read = Node.objects.filter(pk=node.pk, state=node.state, state_reason=node.state_reason)
    if not as_read.update(state=change.state, state_reason=change.reason, state_since=since):
        return False
    kind = EvidenceKind.NODE_BACK if change.state == NodeState.ELIGIBLE else EvidenceKind.NODE_LOST
    _record(node, kind, change.at, source, change.reason)
    return True


def _record(node: Known, kind: EvidenceKind, at: datetime, source: str, detail: str) -> None:
    key = f"{kind}:{node.pk}:{at.timestamp():.3f}"
    record_evidence(node_id=node.pk, kind=kind, seen_at=at, source=source, detail=detail, key=key)
