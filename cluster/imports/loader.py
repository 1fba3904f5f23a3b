"""The way in: a file, or values made by a program, as a checked description or list of jobs. Whole or not."""

from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from cluster.imports.cluster_checks import check_cluster
from cluster.imports.cluster_schema import ClusterEntry, PolicyEntry
from cluster.imports.description import ClusterDescription, nodes_of, parents_first, racks_of, tenants_of
from cluster.imports.document import Document, document_of, read_document
from cluster.imports.jobs_checks import JobsContext, check_jobs
from cluster.imports.jobs_schema import JobEntry, JobsFile
from cluster.imports.problems import ImportRefused, Problem
from cluster.imports.validation import validated


@dataclass(frozen=True, slots=True)
class LoadedCluster:
    description: ClusterDescription
    warnings: list[Problem]


@dataclass(frozen=True, slots=True)
class LoadedJobs:
    document: Document
    jobs: list[JobEntry]
    warnings: list[Problem]


def load_cluster(path: FilePath | str) -> LoadedCluster:
    """A cluster description out of a YAML file. Raises ImportRefused with every error found."""
    return cluster_in(read_document(path))


def cluster_from(data: dict[str, Any], name: str) -> LoadedCluster:
    """The same for values made by a program; `name` stands for the file in messages."""
    return cluster_in(document_of(data, name))


def load_jobs(path: FilePath | str, context: JobsContext) -> LoadedJobs:
    """The jobs of a YAML file, checked against the cluster they are for. Raises ImportRefused."""
    document = read_document(path)
    jobs = validated(document, JobsFile).jobs
    return LoadedJobs(document, jobs, _warnings(check_jobs(document, jobs, context)))


def load_policy(path: FilePath | str) -> dict[str, object]:
    """The settings of a policy file: the keys of a description's `policy` section. Raises ImportRefused."""
    return validated(read_document(path), PolicyEntry).settings


def cluster_in(document: Document) -> LoadedCluster:
    """The same for a document that has been read already."""
    entry = validated(document, ClusterEntry)
    warnings = _warnings(check_cluster(document, entry))
    description = ClusterDescription(
        name=entry.name,
        gpu_models=entry.gpu_models,
        racks=racks_of(entry),
        pods=[pod.name for pod in entry.pods],
        blocks={block.name: pod.name for pod in entry.pods for block in pod.blocks},
        nodes=nodes_of(entry),
        tenants=parents_first(tenants_of(entry)),
        users=entry.users,
        policy=entry.policy.settings,
        power_panels=entry.power_panels,
        cooling_zones=entry.cooling_zones,
    )
    return LoadedCluster(description, warnings)


def _warnings(problems: list[Problem]) -> list[Problem]:
    """The warnings; raises ImportRefused when there are errors among the problems."""
    if any(not problem.is_warning for problem in problems):
        raise ImportRefused(problems)
    return problems
