"""GPU models, pods, blocks, racks, nodes and their GPUs as a description has them."""

from collections import defaultdict
from datetime import datetime

from cluster.imports.description import ClusterDescription
from cluster.models import Allocation
from cluster.services.importing.changes import Changes, bring_in_line
from cluster.services.importing.power import import_power
from fabric.models import Block, Pod, Rack
from fleet.models import Gpu, GpuModel, Node, NodeState

WHILE_RUNNING = ("gpu_model", "block")
"""What may not change about a node while work runs on it: the planner has placed gangs by it."""
REMOVED = "removed from the cluster description"


class NodeInUse(Exception):
    """The file would change or remove a node under running work. Names node, change and jobs."""


def import_nodes(
    description: ClusterDescription, changes: Changes, *, now: datetime, remove_missing: bool
) -> None:
    """Raises NodeInUse, and then nothing must be kept of what was written."""
    models = _gpu_models(description, changes)
    racks = bring_in_line(
        "rack",
        Rack.objects,
        {
            rack.name: {"row": rack.row, "position": rack.position, "power_limit_w": rack.power_limit_w}
            for rack in description.racks
        },
        changes,
    )
    pods = bring_in_line("pod", Pod.objects, {name: {} for name in description.pods}, changes)
    blocks = bring_in_line(
        "block",
        Block.objects,
        {name: {"pod": pods[pod]} for name, pod in description.blocks.items()},
        changes,
        related=("pod",),
    )
    import_power(description, racks, changes)
    busy = _running_on()
    wanted = {
        node.name: {
            "gpu_model": models[node.gpu_model],
            "block": blocks[node.block],
            "rack": racks[node.rack],
            "rack_unit": node.rack_unit,
            "base_w": node.base_w,
            "cache_gb": node.cache_gb,
        }
        for node in description.nodes
    }
    nodes = bring_in_line(
        "node",
        Node.objects,
        wanted,
        changes,
        related=("gpu_model", "block", "rack"),
        new={"state_since": now},
    )
    _refuse_changes_under_work(changes, busy)
    _back_in_service(nodes, changes, now)
    _gpus(description, nodes, changes, busy)
    _missing(set(wanted), changes, busy, now=now, remove=remove_missing)


def _gpu_models(description: ClusterDescription, changes: Changes) -> dict[str, GpuModel]:
    return bring_in_line(
        "GPU model",
        GpuModel.objects,
        {
            model.name: {
                "memory_gb": model.memory_gb,
                "idle_w": model.idle_w,
                "expected_w": model.expected_w,
                "maximum_w": model.maximum_w,
                "usd_per_gpu_hour": model.usd_per_gpu_hour,
            }
            for model in description.gpu_models
        },
        changes,
    )


def _running_on() -> dict[str, set[int]]:
    """Node → jobs that hold GPUs of it."""
    found: dict[str, set[int]] = defaultdict(set)
    rows = Allocation.objects.filter(released_at=None).values_list("node__name", "run__job_id").distinct()
    for node, job_id in rows:
        found[node].add(job_id)
    return found


def _jobs(job_ids: set[int]) -> str:
    return "job " + ", ".join(str(job_id) for job_id in sorted(job_ids)[:5])


def _refuse_changes_under_work(changes: Changes, busy: dict[str, set[int]]) -> None:
    for change in changes.changed:
        if change.kind == "node" and change.field in WHILE_RUNNING and change.name in busy:
            raise NodeInUse(
                f"node {change.name}: {change.field} would change from {change.before} to {change.after} "
                f"while {_jobs(busy[change.name])} runs on it; drain the node first"
            )


def _back_in_service(nodes: dict[str, Node], changes: Changes, now: datetime) -> None:
    """A node that an earlier file left out, and this one names again."""
    for node in nodes.values():
        if node.state == NodeState.NOT_ACCEPTED and node.state_reason == REMOVED:
            changes.change("node", node.name, "state", node.state, NodeState.ELIGIBLE)
            Node.objects.filter(pk=node.pk).update(state=NodeState.ELIGIBLE, state_reason="", state_since=now)


def _gpus(
    description: ClusterDescription, nodes: dict[str, Node], changes: Changes, busy: dict[str, set[int]]
) -> None:
    """Each node with as many GPUs as it is said to have."""
    present: dict[int, list[Gpu]] = defaultdict(list)
    for gpu in Gpu.objects.filter(node__in=nodes.values()).order_by("node_id", "index"):
        present[gpu.node_id].append(gpu)
    fresh: list[Gpu] = []
    for spec in description.nodes:
        node = nodes[spec.name]
        have = present[node.pk]
        in_service = [gpu for gpu in have if gpu.state != NodeState.NOT_ACCEPTED]
        if have and len(in_service) != spec.gpus:
            changes.change("node", spec.name, "gpus", len(in_service), spec.gpus)
        if len(in_service) > spec.gpus:
            _take_away(spec.name, in_service[spec.gpus :], busy)
        fresh += _add(node, have, spec.gpus)
    Gpu.objects.bulk_create(fresh, batch_size=2000)


def _add(node: Node, have: list[Gpu], wanted: int) -> list[Gpu]:
    """New GPUs for the node; those that were taken out of service before come back first."""
    back = [gpu for gpu in have[:wanted] if gpu.state == NodeState.NOT_ACCEPTED]
    if back:
        Gpu.objects.filter(pk__in=[gpu.pk for gpu in back]).update(state=NodeState.ELIGIBLE)
    return [Gpu(node=node, index=index) for index in range(len(have), wanted)]


def _take_away(name: str, gpus: list[Gpu], busy: dict[str, set[int]]) -> None:
    """Delete GPUs that never ran anything; take the others out of service, because runs name them."""
    if name in busy:
        raise NodeInUse(f"node {name}: GPUs would be removed while {_jobs(busy[name])} runs on it")
    used = set(Allocation.objects.filter(gpu__in=gpus).values_list("gpu_id", flat=True))
    Gpu.objects.filter(pk__in=[gpu.pk for gpu in gpus if gpu.pk not in used]).delete()
    Gpu.objects.filter(pk__in=used).update(state=NodeState.NOT_ACCEPTED)


def _missing(
    wanted: set[str], changes: Changes, busy: dict[str, set[int]], *, now: datetime, remove: bool
) -> None:
    """Nodes that the file does not name: listed, or on demand removed."""
    others = list(Node.objects.exclude(name__in=wanted).exclude(state=NodeState.NOT_ACCEPTED))
    if not remove:
        changes.miss("node", [node.name for node in others])
        return
    for node in others:
        if node.name in busy:
            raise NodeInUse(f"node {node.name} would be removed while {_jobs(busy[node.name])} runs on it")
    used = set(Allocation.objects.filter(node__in=others).values_list("node_id", flat=True))
    for node in others:
        changes.remove("node", node.name)
    Node.objects.filter(pk__in=[node.pk for node in others if node.pk not in used]).delete()
    # Its history names the node, so the row stays; it takes no work and counts as unavailable.
    Node.objects.filter(pk__in=used).update(
        state=NodeState.NOT_ACCEPTED, state_reason=REMOVED, state_since=now
    )
