"""The cluster a trace is replayed on: derived, described in YAML, or a file that the trace brings along."""

from dataclasses import dataclass
from pathlib import Path

from cluster.imports.description import ClusterDescription
from cluster.imports.loader import cluster_from, load_cluster
from cluster.traces import Trace
from cluster.traces.cluster_files import cluster_from_csv
from cluster.traces.cluster_for import TraceCluster, cluster_for
from cluster.traces.models_of_jobs import Installed, assign_models
from cluster.traces.naming import slugs


@dataclass(frozen=True, slots=True)
class Chosen:
    """A cluster for a trace, with what was assumed to bring the two together."""

    description: ClusterDescription
    tenant_names: dict[str, str]
    models: list[str]
    notes: list[str]


def choose_cluster(trace: Trace, file: str | None) -> Chosen:
    """Raises TraceError or ImportRefused, which name file, place and value."""
    if file is None:
        return _derived(cluster_for(trace), trace)
    if file.removesuffix(".gz").endswith(".csv"):
        return _derived(cluster_from_csv(Path(file), trace), trace)
    return _described(file, trace)


def _derived(cluster: TraceCluster, trace: Trace) -> Chosen:
    loaded = cluster_from(cluster.data, f"the cluster for {trace.source}")
    return Chosen(loaded.description, cluster.tenant_names, cluster.models, cluster.notes)


def _described(file: str, trace: Trace) -> Chosen:
    loaded = load_cluster(file)
    description = loaded.description
    installed = _installed(description)
    known = {tenant.name for tenant in description.tenants}
    names = slugs(trace.tenants)
    names |= {name: name for name in trace.tenants if name in known}
    jobs, notes = list(trace.jobs), [f"The cluster is the one described in {file}."]
    foreign = sorted({job.gpu_model for job in jobs if job.gpu_model} - set(installed))
    if foreign and len(installed) == 1:
        # A trace that names its own hardware is often replayed on another: one model leaves no choice.
        jobs = [job._replace(gpu_model=None) for job in jobs]
        notes.append(f"The trace's GPU models ({', '.join(foreign)}) are replaced by the only one installed.")
    elif any(job.gpu_model is None for job in jobs) and len(installed) > 1:
        notes.append("Jobs that name no GPU model are shared out over those installed (an assumption).")
    notes += [str(warning) for warning in loaded.warnings]
    return Chosen(description, names, assign_models(jobs, installed), notes)


def _installed(description: ClusterDescription) -> dict[str, Installed]:
    found: dict[str, Installed] = {}
    for node in description.nodes:
        known = found.get(node.gpu_model, Installed(0, 0))
        found[node.gpu_model] = Installed(known.gpus + node.gpus, max(known.most_on_a_node, node.gpus))
    return found
