"""Files that public traces bring along about their clusters: node lists and quotas.

- openb: `sn, cpu_milli, memory_mib, gpu, model`, one host a row: the real nodes.
- Philly: `vc, node num`, nodes of each virtual cluster as the Helios artifact's authors assumed them.
- Helios: `date, <one column a virtual cluster>, total`, GPUs of each virtual cluster on each day.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from cluster.traces import openb
from cluster.traces.cluster_for import (
    NODE_GPUS,
    PLACES_NOTE,
    UNNAMED_MODEL,
    Host,
    TraceCluster,
    cluster_for,
    describe,
    installed_of,
)
from cluster.traces.models_of_jobs import assign_models
from cluster.traces.naming import slugs
from cluster.traces.source import Table, header_of
from cluster.traces.trace import Trace, TraceError

PHILLY_COLUMNS = ("vc", "node num")
HELIOS_COLUMNS = ("date", "total")


def cluster_from_csv(path: Path, trace: Trace) -> TraceCluster:
    """The cluster that such a file describes, for this trace. Raises TraceError on an unknown header."""
    columns = set(header_of(path))
    if set(openb.NODE_COLUMNS) <= columns:
        return cluster_for(trace, openb.read_nodes(path))
    if set(PHILLY_COLUMNS) <= columns:
        return _of_quotas(trace, _philly_quotas(path), f"{path.name}: nodes for each virtual cluster")
    if set(HELIOS_COLUMNS) <= columns:
        quotas, day = _helios_quotas(path, trace)
        return _of_quotas(trace, quotas, f"{path.name}: GPUs of each virtual cluster on {day}")
    known = "sn, gpu, model (openb nodes); vc, node num (Philly); date, …, total (Helios quotas)"
    raise TraceError(
        str(path), f"no known cluster file has the columns {', '.join(sorted(columns))}", allowed=known
    )


def _philly_quotas(path: Path) -> dict[str, int]:
    table = Table(path, PHILLY_COLUMNS)
    name, nodes = table.text("vc"), table.whole("node num", 1)
    return {name(row): nodes(row) * NODE_GPUS for row in table.rows()}


def _helios_quotas(path: Path, trace: Trace) -> tuple[dict[str, int], str]:
    """The quotas of the trace's first day, or of the last day before it that the file has."""
    table = Table(path, HELIOS_COLUMNS)
    day = table.text("date")
    tenants = {vc: table.whole(vc) for vc in table.columns if vc not in HELIOS_COLUMNS}
    wanted = trace.start_at.date().isoformat() if trace.start_at else ""
    best, quotas = "", {}
    for row in table.rows():
        at = day(row)
        if best < at <= wanted or not best:
            best, quotas = at, {vc: gpus(row) for vc, gpus in tenants.items()}
    return {vc: gpus for vc, gpus in quotas.items() if gpus}, best


def _of_quotas(trace: Trace, quotas: Mapping[str, int], source: str) -> TraceCluster:
    """Nodes of 8 GPUs for the sum of all quotas; each quota becomes an entitlement."""
    count = -(-sum(quotas.values()) // NODE_GPUS)
    hosts: list[Host] = [(f"node{number:04d}", UNNAMED_MODEL, NODE_GPUS) for number in range(1, count + 1)]
    names = slugs([*trace.tenants, *quotas])
    entitlements = {tenant: {UNNAMED_MODEL: gpus} for tenant, gpus in quotas.items()}
    jobs = [job._replace(gpu_model=None) for job in trace.jobs]
    notes = [
        f"The cluster is taken from {source}: {count:,} nodes × {NODE_GPUS} = {count * NODE_GPUS:,} GPUs."
    ]
    without = sorted(set(trace.tenants) - set(quotas))
    if without:
        notes.append(
            f"Tenants without a quota there have an entitlement of 0 and live on loans: {', '.join(without)}."
        )
    return TraceCluster(
        data=describe(replace(trace, jobs=tuple(jobs)), hosts, entitlements, names),
        tenant_names=names,
        models=assign_models(jobs, installed_of(hosts)),
        notes=[*notes, PLACES_NOTE],
    )
