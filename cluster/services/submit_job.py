"""Accept a job into the queue."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from cluster import clock
from cluster.models import Job, Kind, Objective, Tier
from cluster.services.append_event import append_event, job_event
from cluster.services.could_ever_run import could_ever_run
from fleet.models import GpuModel, Node
from tenancy.models import Entitlement, Tenant, User
from tenancy.permissions import Action, may, require


@transaction.atomic
def submit_job(
    *,
    by: User,
    tenant: Tenant,
    name: str,
    gpus: int | None = None,
    nodes: int | None = None,
    gpus_per_node: int | None = None,
    gpu_model: GpuModel | None = None,
    tier: str = Tier.RESEARCH,
    kind: str = Kind.TRAINING,
    **more: Any,
) -> Job:
    """The new job, pending. `more`: any other field that a tenant states (see Job).

    Raises NotAllowed, or ValidationError whose messages name the field, the value and the mend.
    """
    require(may(by, Action.SUBMIT_JOB, tenant), Action.SUBMIT_JOB, f"tenant {tenant}")
    if tenant.children.exists():
        teams = ", ".join(tenant.children.values_list("name", flat=True)[:5])
        raise ValidationError({"tenant": f"{tenant} is an organisation: submit to one of its teams, {teams}"})
    total = gpus if gpus is not None else (nodes or 0) * (gpus_per_node or 0)
    at = clock.now()
    job = Job(
        name=name,
        tenant=tenant,
        owner=by,
        tier=tier,
        kind=kind,
        gpus=total,
        nodes=nodes,
        gpus_per_node=gpus_per_node or (total // nodes if nodes and total % nodes == 0 else None),
        gpu_model=gpu_model or usual_model(tenant),
        submitted_at=at,
        queued_at=at,
        **more,
    )
    _check(job, gpus)
    job.save()
    append_event(job_event("job.submitted", job, at=at, job=job.pk, gpus=job.gpus, tier=job.tier))
    return job


def usual_model(tenant: Tenant) -> GpuModel:
    """The GPU model a tenant has most of; else the one the cluster has most nodes of.

    Raises ValidationError if there are no nodes at all.
    """
    held = Entitlement.objects.filter(tenant=tenant).order_by("-gpus").values_list("gpu_model", flat=True)
    model = GpuModel.objects.filter(name__in=list(held)[:1]).first()
    if model is None:
        node = Node.objects.select_related("gpu_model").order_by("gpu_model_id").first()
        model = node.gpu_model if node else None
    if model is None:
        raise ValidationError(
            {"gpu_model": "the cluster has no nodes yet: import a cluster description first"}
        )
    return model


def _check(job: Job, asked_gpus: int | None) -> None:
    errors: dict[str, list[str]] = {}
    try:
        job.full_clean(exclude=["version"], validate_constraints=False)
    except ValidationError as error:
        errors = {field: [str(m) for m in messages] for field, messages in error.message_dict.items()}
    _check_wishes(job, errors)
    _check_shape(job, asked_gpus, errors)
    if job.tier == Tier.PRODUCTION:
        job.preemptible = False
    if job.tier == Tier.BEST_EFFORT and not job.preemptible:
        errors.setdefault("preemptible", []).append(
            "best-effort jobs run on borrowed GPUs and are always preemptible: "
            "set it to true, or choose a higher tier"
        )
    if errors:
        raise ValidationError(errors)


def _check_wishes(job: Job, errors: dict[str, list[str]]) -> None:
    """A deadline and the objective that reads it go together; a draw is one that the model can have."""
    if job.objective == Objective.DEADLINE and job.deadline is None:
        errors.setdefault("deadline", []).append("the objective is its deadline: state one")
    if job.deadline is not None and job.objective != Objective.DEADLINE:
        errors.setdefault("objective", []).append(
            f"a deadline is read only with the objective deadline, not {job.objective}: "
            "choose it, or leave the deadline out"
        )
    if job.deadline is not None and job.deadline <= job.submitted_at:
        errors.setdefault("deadline", []).append(
            f"{job.deadline:%d %b %Y %H:%M %Z} has passed: state a later one"
        )
    most = job.gpu_model.maximum_w if job.gpu_model_id else None
    if job.gpu_draw_w is not None and most is not None and job.gpu_draw_w > most:
        errors.setdefault("gpu_draw_w", []).append(
            f"{job.gpu_draw_w:g} W are more than a {job.gpu_model} can draw ({most} W): state at most that"
        )


def _check_shape(job: Job, asked_gpus: int | None, errors: dict[str, list[str]]) -> None:
    """The gang in numbers: consistent, and possible on the cluster as it is installed."""
    if job.nodes is None and job.gpus_per_node is not None:
        errors.setdefault("nodes", []).append(
            f"{job.gpus_per_node} GPUs per node of how many nodes? State nodes, or leave gpus_per_node out"
        )
        return
    if job.nodes is not None and job.gpus_per_node is None:
        errors.setdefault("nodes", []).append(
            f"{job.gpus} GPUs cannot be shared equally by {job.nodes} nodes: "
            "choose a divisor, or leave nodes out"
        )
        return
    if job.nodes is not None and job.gpus_per_node is not None and job.nodes * job.gpus_per_node != job.gpus:
        errors.setdefault("gpus", []).append(
            f"{asked_gpus} is not {job.nodes} nodes × {job.gpus_per_node} GPUs "
            f"= {job.nodes * job.gpus_per_node}: leave it out, or make them agree"
        )
        return
    if job.gpus < 1:
        errors["gpus"] = [f"{job.gpus} is too few: a job needs at least 1 GPU"]
    elif not errors.get("gpu_model"):
        _check_fits(job, errors)


def _check_fits(job: Job, errors: dict[str, list[str]]) -> None:
    refusal = could_ever_run(job)
    if refusal is not None:
        errors.setdefault(refusal.field, []).append(refusal.text)
