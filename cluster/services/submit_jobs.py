"""Hand in all jobs of a checked file, or none; or one entry alone."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from cluster.imports.jobs_checks import spread_of
from cluster.imports.jobs_schema import JobEntry
from cluster.imports.loader import LoadedJobs
from cluster.imports.problems import ImportRefused, Problem
from cluster.models import Job
from cluster.services.submit_job import submit_job
from fleet.models import GpuModel
from tenancy.models import Tenant, User
from tenancy.permissions import NotAllowed


@transaction.atomic
def submit_jobs(loaded: LoadedJobs, *, by: User | None) -> list[Job]:
    """The new jobs. A job without an owner belongs to `by`. Raises ImportRefused with every refusal."""
    tenants = {tenant.name: tenant for tenant in Tenant.objects.all()}
    models = {model.name: model for model in GpuModel.objects.all()}
    users = {user.username: user for user in User.objects.filter(username__in=_owners(loaded))}
    jobs: list[Job] = []
    problems: list[Problem] = []
    for number, entry in enumerate(loaded.jobs):
        owner = users[entry.owner] if entry.owner else by
        if owner is None:
            problems.append(
                loaded.document.error(("jobs", number), "has no owner", "owner: NAME, or --as NAME")
            )
            continue
        try:
            with transaction.atomic():
                jobs.append(submit_job(by=owner, **_asked(entry, tenants, models)))
        except NotAllowed as refusal:
            problems.append(loaded.document.error(("jobs", number, "owner"), f"{owner.username}: {refusal}"))
        except ValidationError as refusal:
            problems += _refusals(loaded, number, refusal)
    if problems:
        raise ImportRefused(problems)
    return jobs


def submit_entry(entry: JobEntry, by: User) -> Job:
    """One job. Raises NotAllowed or ValidationError, as `submit_job` does."""
    tenants = {tenant.name: tenant for tenant in Tenant.objects.filter(name=entry.tenant)}
    models = {model.name: model for model in GpuModel.objects.filter(name=entry.gpu_model or "")}
    if entry.tenant not in tenants:
        raise ValidationError({"tenant": f"there is no tenant '{entry.tenant}'"})
    if entry.gpu_model is not None and entry.gpu_model not in models:
        raise ValidationError({"gpu_model": f"there is no GPU model '{entry.gpu_model}'"})
    return submit_job(by=by, **_asked(entry, tenants, models))


def _owners(loaded: LoadedJobs) -> set[str]:
    return {entry.owner for entry in loaded.jobs if entry.owner}


def _refusals(loaded: LoadedJobs, number: int, refusal: ValidationError) -> list[Problem]:
    by_field = refusal.message_dict if hasattr(refusal, "error_dict") else {"": refusal.messages}
    return [
        loaded.document.error(("jobs", number, field) if field else ("jobs", number), message)
        for field, messages in by_field.items()
        for message in messages
    ]


def _asked(entry: JobEntry, tenants: dict[str, Tenant], models: dict[str, GpuModel]) -> dict[str, Any]:
    """The entry in the words of `submit_job`."""
    nodes, per_node = spread_of(entry)
    same = entry.model_dump(
        include={
            *("name", "tier", "kind", "dataset", "dataset_gb", "code_version", "workload"),
            *("expected_duration_s", "time_limit_s", "not_before", "preemptible", "preemption_budget"),
            *("restart_cost_s", "readiness_timeout_s", "retry_limit", "gpu_draw_w"),
            *("objective", "deadline"),
        }
    )
    return same | {
        "tenant": tenants[entry.tenant],
        "gpus": entry.gang_gpus,
        "nodes": nodes,
        "gpus_per_node": per_node,
        "gpu_model": models[entry.gpu_model] if entry.gpu_model else None,
        "locality_required": entry.locality.required,
        "locality_preferred": _preferred(entry),
        "checkpoint_on_signal": entry.checkpoint.on_signal,
        "checkpoint_interval_s": entry.checkpoint.interval_s,
        "checkpoint_cost_s": entry.checkpoint.cost_s,
        "grace_s": entry.checkpoint.grace_s,
    }


def _preferred(entry: JobEntry) -> str:
    """What is preferred when the file does not say it: a block, or the node that is required."""
    if entry.locality.required == "node":
        return "node"
    return entry.locality.preferred
