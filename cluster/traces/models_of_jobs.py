"""Which GPU model each job of a trace runs on. A job that names none is given one: an assumption."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cluster.traces.trace import TraceJob


@dataclass(frozen=True, slots=True)
class Installed:
    """What a cluster has of one GPU model."""

    gpus: int
    most_on_a_node: int


def assign_models(jobs: Sequence[TraceJob], installed: Mapping[str, Installed]) -> list[str]:
    """The model of each job, in the order of the jobs.

    A job that names a model keeps it, also when nothing of it is installed (then it can never run). The
    others go, one after another, to the model with the least GPU time given to it for each installed GPU,
    among those whose nodes are large enough for what the job puts on one node.
    """
    given = dict.fromkeys(installed, 0.0)
    found = []
    for job in jobs:
        model = job.gpu_model or _least_loaded(job, installed, given)
        if model in given:
            given[model] += job.gpus * job.duration_s / installed[model].gpus
        found.append(model)
    return found


def _least_loaded(job: TraceJob, installed: Mapping[str, Installed], given: Mapping[str, float]) -> str:
    if len(installed) == 1:
        return next(iter(installed))
    largest = max(model.most_on_a_node for model in installed.values())
    wanted = min(job.gpus_per_node or job.gpus, largest)
    able = [name for name, model in installed.items() if model.most_on_a_node >= wanted]
    return min(able, key=lambda name: (given[name], name))
