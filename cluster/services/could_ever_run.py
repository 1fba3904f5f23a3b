"""Could a job ever run? Asked at submission, of the whole cluster, empty and in good order."""

from dataclasses import dataclass

from django.db.models import Count

from cluster.models import Job
from cluster.scheduler.fleet import Fleet, NodeView, members_of
from cluster.scheduler.supply import Supply
from cluster.scheduler.words import Locality
from fleet.models import Node


@dataclass(frozen=True, slots=True)
class Refusal:
    """The field to mend, and how."""

    field: str
    text: str


def could_ever_run(job: Job) -> Refusal | None:
    """None if it fits the installed cluster; else which field is too much, with the arithmetic."""
    nodes = Node.objects.filter(gpu_model_id=job.gpu_model_id).select_related("gpu_model", "block__pod")
    views = [
        NodeView(n.name, n.gpu_model.name, n.installed, n.block.name, n.block.pod.name)
        for n in nodes.annotate(installed=Count("gpus"))
    ]
    model = job.gpu_model.name
    fleet = Fleet(views)
    installed, size = sum(v.gpus for v in views), fleet.node_size(model)
    if job.gpus > installed:
        return Refusal(
            "gpus", f"{job.gpus} is more than the {installed} {model} GPUs installed: it could never start"
        )
    members = members_of(job.gpus, size, job.nodes)
    whole = Supply(fleet, [v.gpus for v in views])
    if not whole.fits(members, model, Locality.CLUSTER):
        count, gpus = members[0]
        return Refusal(
            "gpus_per_node" if job.nodes else "gpus",
            f"{count} nodes with {gpus} GPUs each are asked, "
            f"but only {_with(views, gpus)} {model} nodes have as many "
            f"(the largest has {size})",
        )
    level = Locality(job.locality_required)
    if not whole.fits(members, model, level):
        most = max((len(fleet.domain_nodes[d]) for d in fleet.at(model, level)), default=0)
        asked = sum(count for count, _ in members)
        return Refusal(
            "locality_required",
            f"one {level} has at most {1 if level is Locality.NODE else most} {model} nodes, "
            f"the gang needs {asked}: ask for a wider locality or a smaller gang",
        )
    return None


def _with(views: list[NodeView], gpus: int) -> int:
    return sum(1 for view in views if view.gpus >= gpus)
