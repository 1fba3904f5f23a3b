"""What the form of a jobs file cannot tell: tenants, owners and models that exist, gangs that ever fit."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from cluster.imports.document import Document
from cluster.imports.jobs_schema import JobEntry
from cluster.imports.problems import Path, Problem
from cluster.scheduler.fleet import Fleet, members_of
from cluster.scheduler.supply import Supply
from cluster.scheduler.words import Locality

LEVELS = list(Locality)
"""from the narrowest to the widest"""


@dataclass(frozen=True, slots=True)
class JobsContext:
    """The cluster that the jobs are for."""

    fleet: Fleet
    teams: Collection[str]
    """tenants that may hold jobs"""
    organisations: Collection[str]
    """tenants that only group others"""
    owners: Collection[str]
    usual_models: Mapping[str, str]
    """tenant → the GPU model its jobs get when they name none"""

    def model_of(self, job: JobEntry) -> str | None:
        """The model asked for, or the tenant's usual one, or the only one there is."""
        if job.gpu_model is not None:
            return job.gpu_model
        models = list(self.fleet.installed_gpus)
        return self.usual_models.get(job.tenant) or (models[0] if len(models) == 1 else None)


def check_jobs(document: Document, jobs: list[JobEntry], context: JobsContext) -> list[Problem]:
    """Every finding about every job; warnings among them."""
    found: list[Problem] = []
    for number, job in enumerate(jobs):
        path: Path = ("jobs", number)
        found += _people(document, path, job, context)
        found += _size(document, path, job)
        found += _locality(document, path, job)
        found += _tier(document, path, job)
        found += _times(document, path, job)
        found += _fit(document, path, job, context)
    return found


def _people(document: Document, path: Path, job: JobEntry, context: JobsContext) -> Iterator[Problem]:
    if job.tenant in context.organisations:
        text = f"'{job.tenant}' is an organisation; jobs belong to its teams"
        yield document.error((*path, "tenant"), text, ", ".join(sorted(context.teams)))
    elif job.tenant not in context.teams:
        allowed = ", ".join(sorted(context.teams)) or "no tenant exists yet: import a cluster first"
        yield document.error((*path, "tenant"), f"there is no tenant '{job.tenant}'", allowed)
    if job.owner is not None and job.owner not in context.owners:
        yield document.error((*path, "owner"), f"there is no user '{job.owner}'")


def _size(document: Document, path: Path, job: JobEntry) -> Iterator[Problem]:
    ways = "gpus, or nodes and gpus_per_node"
    gang = job.gang_gpus
    if gang is None:
        yield document.error(path, "does not say how many GPUs it asks for", ways)
    elif job.nodes and job.gpus_per_node and job.nodes * job.gpus_per_node != gang:
        product = f"{job.nodes} × {job.gpus_per_node} = {job.nodes * job.gpus_per_node}"
        yield document.error((*path, "gpus"), f"gpus is {gang}, but nodes × gpus_per_node is {product}")
    elif job.nodes and gang % job.nodes:
        yield document.error((*path, "nodes"), f"{gang} GPUs cannot be shared equally by {job.nodes} nodes")
    elif job.gpus_per_node and gang % job.gpus_per_node:
        text = f"{gang} GPUs cannot be shared out {job.gpus_per_node} to a node"
        yield document.error((*path, "gpus_per_node"), text)


def _locality(document: Document, path: Path, job: JobEntry) -> Iterator[Problem]:
    required, preferred = Locality(job.locality.required), Locality(job.locality.preferred)
    stated = "preferred" in job.locality.model_fields_set
    if stated and LEVELS.index(preferred) > LEVELS.index(required):
        text = f"'{preferred}' is wider than what is required ('{required}')"
        allowed = ", ".join(LEVELS[: LEVELS.index(required) + 1])
        yield document.error((*path, "locality", "preferred"), text, allowed)


def _tier(document: Document, path: Path, job: JobEntry) -> Iterator[Problem]:
    if job.tier == "best_effort" and not job.preemptible:
        text = "best-effort jobs run on borrowed GPUs and are always preemptible"
        yield document.error((*path, "preemptible"), text, "true, or another tier")


def _times(document: Document, path: Path, job: JobEntry) -> Iterator[Problem]:
    checkpoint = job.checkpoint
    if checkpoint.on_signal and checkpoint.cost_s > checkpoint.grace_s:
        text = (
            f"a checkpoint takes {checkpoint.cost_s} s but the grace is {checkpoint.grace_s} s: "
            "when preempted, the job cannot save in time"
        )
        yield document.warning((*path, "checkpoint", "grace_s"), text)
    if job.time_limit_s is not None and job.time_limit_s < job.expected_duration_s:
        text = f"the limit of {job.time_limit_s} s ends it before the {job.expected_duration_s} s it expects"
        yield document.warning((*path, "time_limit_s"), text)


def spread_of(job: JobEntry) -> tuple[int | None, int | None]:
    """(nodes, GPUs on each) when the job asks for an even spread; (None, None) when for a number of GPUs."""
    gang = job.gang_gpus or 0
    if job.nodes:
        return job.nodes, gang // job.nodes
    if job.gpus_per_node:
        return gang // job.gpus_per_node, job.gpus_per_node
    return None, None


def _fit(document: Document, path: Path, job: JobEntry, context: JobsContext) -> Iterator[Problem]:
    """Could the gang run on the whole fleet, empty and in good order?"""
    fleet = context.fleet
    models = ", ".join(sorted(fleet.installed_gpus)) or "no node is installed: import a cluster first"
    model, gang = context.model_of(job), job.gang_gpus
    if model is None:
        yield document.error(path, "does not say which GPU model it asks for", models)
    elif model not in fleet.installed_gpus:
        yield document.error((*path, "gpu_model"), f"no node has GPUs of the model '{model}'", models)
    elif gang is not None and not any(_size(document, path, job)):
        text = _never_fits(gang, model, spread_of(job)[0], Locality(job.locality.required), fleet)
        if text:
            key = "nodes" if job.gpus is None else "gpus"
            yield document.error((*path, key), text)


def _never_fits(gpus: int, model: str, nodes: int | None, required: Locality, fleet: Fleet) -> str | None:
    """Why a gang can never run here, with the arithmetic; None when it could."""
    members = members_of(gpus, fleet.node_size(model), nodes)
    whole = Supply(fleet, [node.gpus for node in fleet.nodes], unusable_too=True)
    if whole.fits(members, model, required):
        return None
    installed = fleet.installed_gpus[model]
    if gpus > installed:
        of_model = sum(1 for node in fleet.nodes if node.model == model)
        return (
            f"asks for {gpus} {model}; the whole fleet has {installed} on {of_model} nodes, "
            "so it can never run"
        )
    count = sum(count for count, _ in members)
    size = members[0][1]
    where = "in the whole fleet" if required is Locality.CLUSTER else f"in one {required}"
    if required is Locality.NODE:
        return f"asks for {gpus} GPUs on one node; the largest {model} node has {fleet.node_size(model)}"
    most = max((whole.nodes_with(size, domain) for domain in fleet.at(model, required)), default=0)
    return (
        f"asks for {count} nodes with {size} {model} {where}; the most there is {most}, so it can never run"
    )
