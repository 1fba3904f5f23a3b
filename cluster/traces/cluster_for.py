"""The cluster a trace is replayed on when nobody names one. Everything here is derived, and says so.

Rule: nodes of 8 GPUs, so many that the busiest week of the trace would load them to 90 %, and never fewer
than 1.25 times the largest gang; 8 nodes in a block, 4 blocks in a pod, 4 nodes in a rack. Each tenant is
entitled to a share in proportion to its GPU-hours, but not to less than its own largest gang.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cluster.traces.load import busiest_week
from cluster.traces.models_of_jobs import Installed, assign_models
from cluster.traces.naming import slugs
from cluster.traces.openb import OpenbNode
from cluster.traces.shares import shares
from cluster.traces.trace import Trace, TraceJob

NODE_GPUS = 8
BLOCK_NODES = 8
POD_BLOCKS = 4
RACK_NODES = 4
TARGET_LOAD = 0.9
GANG_ROOM = 1.25
UNNAMED_MODEL = "gpu"


@dataclass(frozen=True, slots=True)
class TraceCluster:
    """A cluster description (in the form of `cluster.imports`) for one trace, and how it came about."""

    data: dict[str, Any]
    tenant_names: dict[str, str]
    """the trace's name → the name in the description"""
    models: list[str]
    """GPU model of each job of the trace, in its order"""
    notes: list[str]


def cluster_for(trace: Trace, nodes: Sequence[OpenbNode] = ()) -> TraceCluster:
    """The derived cluster; with `nodes`, these real ones instead of derived nodes."""
    if nodes:
        hosts = [(node.name, node.gpu_model, node.gpus) for node in nodes]
        notes = [f"Nodes are the {len(nodes):,} real ones with GPUs of the node list, {_gpus(hosts):,} GPUs."]
    else:
        hosts, notes = _derived_hosts(trace)
    installed = installed_of(hosts)
    models = assign_models(trace.jobs, installed)
    names = slugs(trace.tenants or ["everybody"])
    entitlements, more = _entitlements(trace, models, installed)
    return TraceCluster(
        data=describe(trace, hosts, entitlements, names),
        tenant_names=names,
        models=models,
        notes=notes + _model_notes(trace, installed) + more + [PLACES_NOTE],
    )


Host = tuple[str, str, int]
"""(name, GPU model, GPUs)"""

PLACES_NOTE = (
    f"Places are assumed: {BLOCK_NODES} nodes to a block, {POD_BLOCKS} blocks to a pod, {RACK_NODES} nodes "
    "to a rack. Power draws and prices are unknown; waste is priced at the default of $2 a GPU-hour."
)


def _gpus(hosts: Sequence[Host]) -> int:
    return sum(gpus for _, _, gpus in hosts)


def installed_of(hosts: Sequence[Host]) -> dict[str, Installed]:
    found: dict[str, Installed] = {}
    for _, model, gpus in hosts:
        known = found.get(model, Installed(0, 0))
        found[model] = Installed(known.gpus + gpus, max(known.most_on_a_node, gpus))
    return found


def _derived_hosts(trace: Trace) -> tuple[list[Host], list[str]]:
    """Nodes for each GPU model the jobs name; jobs that name none are counted to the model most asked for."""
    by_model: dict[str, list[TraceJob]] = defaultdict(list)
    for job in trace.jobs:
        by_model[job.gpu_model or ""].append(job)
    unnamed = by_model.pop("", [])
    most = max(by_model, key=lambda m: sum(j.gpu_hours for j in by_model[m]), default=UNNAMED_MODEL)
    by_model[most] = by_model.get(most, []) + unnamed
    hosts: list[Host] = []
    notes = []
    for model in sorted(by_model):
        count, note = _node_count(model, by_model[model])
        width = max(3, len(str(count)))
        prefix = "node" if len(by_model) == 1 else f"{model.lower()}-"
        hosts += [(f"{prefix}{number:0{width}d}", model, NODE_GPUS) for number in range(1, count + 1)]
        notes.append(note)
    return hosts, notes


def _node_count(model: str, jobs: Sequence[TraceJob]) -> tuple[int, str]:
    """How many nodes of 8 GPUs these jobs call for, and the arithmetic in words."""
    week, load = busiest_week(jobs)
    gang = max((job.gpus for job in jobs), default=0)
    for_load, for_gang = load / TARGET_LOAD, gang * GANG_ROOM
    count = max(1, math.ceil(max(for_load, for_gang) / NODE_GPUS))
    why = (
        f"week {week + 1} offers {load:,.1f} GPUs of work on average, which is {TARGET_LOAD:.0%} of "
        f"{for_load:,.1f}"
        if for_load >= for_gang
        else f"the largest gang of {gang} GPUs takes {GANG_ROOM} times its size"
    )
    return count, (
        f"The cluster is derived: {count:,} × {NODE_GPUS} = {count * NODE_GPUS:,} GPUs of model '{model}' "
        f"(nodes × GPUs), because {why}."
    )


def _model_notes(trace: Trace, installed: Mapping[str, Installed]) -> list[str]:
    unnamed = sum(1 for job in trace.jobs if job.gpu_model is None)
    if len(installed) < 2 or not unnamed:
        return []
    return [
        f"{unnamed:,} jobs name no GPU model; each is given the model with the least GPU time so far for "
        "each installed GPU, among those whose nodes are large enough (an assumption)."
    ]


def _entitlements(
    trace: Trace, models: Sequence[str], installed: Mapping[str, Installed]
) -> tuple[dict[str, dict[str, int]], list[str]]:
    """Tenant → GPU model → GPUs, such that every model is entitled exactly."""
    hours: dict[str, dict[str, float]] = {model: {} for model in installed}
    gangs: dict[str, dict[str, int]] = {model: {} for model in installed}
    for job, model in zip(trace.jobs, models, strict=True):
        if model in installed:
            hours[model][job.tenant] = hours[model].get(job.tenant, 0.0) + job.gpu_hours
            gangs[model][job.tenant] = max(gangs[model].get(job.tenant, 0), job.gpus)
    notes = [
        "Entitlements are assumed: in proportion to each tenant's GPU-hours in the trace, no tenant below "
        "its largest gang, and together all that is installed."
    ]
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for model, weights in hours.items():
        total = installed[model].gpus
        if sum(gangs[model].values()) > total:
            notes.append(
                f"The largest gangs of all tenants do not fit into {total:,} {model}: only hours count."
            )
        for tenant, gpus in shares(weights, total, gangs[model]).items():
            found[tenant][model] = gpus
    return dict(found), notes


def describe(
    trace: Trace,
    hosts: Sequence[Host],
    entitlements: Mapping[str, Mapping[str, int]],
    names: Mapping[str, str],
) -> dict[str, Any]:
    """The description in the form that `cluster.imports` reads."""
    blocks = [(f"block-{number + 1:02d}", part) for number, part in enumerate(_blocks(hosts))]
    pods = [blocks[at : at + POD_BLOCKS] for at in range(0, len(blocks), POD_BLOCKS)]
    racks: list[str] = []
    return {
        "name": f"A cluster for {trace.source}"[:200],
        "gpu_models": [{"name": model} for model in sorted({model for _, model, _ in hosts})],
        "pods": [
            {
                "name": f"pod-{number + 1:02d}",
                "blocks": [{"name": name, "nodes": _nodes(part, racks)} for name, part in pod],
            }
            for number, pod in enumerate(pods)
        ],
        "racks": [{"name": rack, "row": "A", "position": at + 1} for at, rack in enumerate(racks)],
        "tenants": [
            {"name": slug, "title": tenant, "entitlement": dict(entitlements.get(tenant, {}))}
            for tenant, slug in names.items()
        ],
    }


def _blocks(hosts: Sequence[Host]) -> list[list[Host]]:
    """Runs of nodes of one GPU model, at most 8 to a block."""
    by_model: dict[str, list[Host]] = defaultdict(list)
    for host in hosts:
        by_model[host[1]].append(host)
    return [of[at : at + BLOCK_NODES] for of in by_model.values() for at in range(0, len(of), BLOCK_NODES)]


def _nodes(hosts: Sequence[Host], racks: list[str]) -> list[dict[str, Any]]:
    """The nodes of one block, each with a rack; new racks are added to `racks`."""
    found = []
    for number, (name, model, gpus) in enumerate(hosts):
        if number % RACK_NODES == 0:
            racks.append(f"rack-{len(racks) + 1:03d}")
        found.append({"name": name, "gpu_model": model, "gpus": gpus, "rack": racks[-1]})
    return found
