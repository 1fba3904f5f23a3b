"""The page of one job: why it waits, what it did, and what may be done with it."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from cluster import clock
from cluster.models import Job, JobState
from cluster.pages.page import page, render_page
from cluster.pages.words import short_time
from cluster.selectors.explanation import explain_job
from cluster.selectors.job_story import JobStory
from cluster.selectors.why import Why
from cluster.services.cancel_job import cancel_job
from cluster.services.hold_job import hold_job, release_job
from tenancy.permissions import Action, Grants

_PART_NAMES = ("state", "why", "choice", "unblock", "runs", "map", "receipts", "history", "log")
PARTS = {name: f"cluster/job/{name}.html" for name in _PART_NAMES}


class JobShown:
    def __init__(self, job: Job, grants: Grants, decision: str) -> None:
        self.job, self.grants, self.story = job, grants, JobStory(job)
        self._decision = int(decision) if decision.isdecimal() and len(decision) < 19 else None
        if decision and (self.why is None or not self.is_seen):
            raise Http404(f"job {job.pk} has no hold with number {decision!r}")

    @property
    def is_past(self) -> bool:
        """A permalink: the verdicts as they stood when that decision was made."""
        return self._decision is not None

    @cached_property
    def why(self) -> Why | None:
        return self.story.why if self._decision is None else self.story.decision(self._decision)

    @cached_property
    def lines(self) -> list[Any]:
        return self.why.lines(self._moment) if self.why else []

    @cached_property
    def sentence(self) -> str:
        return self.why.sentence(self._moment) if self.why else ""

    def _moment(self, seconds: float) -> str:
        return short_time(datetime.fromtimestamp(seconds, UTC), clock.now())

    @cached_property
    def hints(self) -> list[str]:
        """What would unblock it. Dear: the cluster is planned anew for each candidate."""
        return list(explain_job(self.job).hints) if self.is_seen else []

    @cached_property
    def is_seen(self) -> bool:
        """May the reader see more of it than its numbers?"""
        return self.grants.may(Action.SEE_JOB, self.job.tenant_id)

    @property
    def may_change(self) -> bool:
        return self.grants.may_change(self.job)

    @property
    def actions(self) -> dict[str, bool]:
        """What makes sense in this state."""
        pending = self.job.state == JobState.PENDING
        return {
            "cancel": not self.job.is_over,
            "hold": pending and not self.job.admin_hold,
            "release": pending and self.job.admin_hold,
        }


@page
def job_page(request: HttpRequest, pk: int, *, problem: str = "", status: int = 200) -> HttpResponse:
    job, grants = _job(request, pk), request.grants  # type: ignore[attr-defined]
    shown = JobShown(job, grants, request.GET.get("decision", ""))
    context = {
        "shown": shown,
        "story": shown.story,
        "job": job,
        "problem": problem,
        "reason": request.POST.get("reason", ""),
    }
    topics = (f"job:{pk}", "queue") if shown.is_seen else ("queue",)
    return render_page(
        request, "cluster/job.html", context, here="queue", topics=topics, parts=PARTS, status=status
    )


def _job(request: HttpRequest, pk: int) -> Job:
    job: Job = get_object_or_404(Job.objects.select_related("tenant", "owner", "gpu_model", "hold_by"), pk=pk)
    return job


def _act(
    request: HttpRequest, pk: int, act: Callable[[Job], Job], done: Callable[[Job], str]
) -> HttpResponse:
    try:
        job = act(_job(request, pk))
    except ValidationError as error:
        status = 400 if hasattr(error, "error_dict") else 409
        return job_page(request, pk, problem=" ".join(error.messages), status=status)
    messages.success(request, done(job))
    return redirect("job", pk)


@require_POST
@page
def cancel(request: HttpRequest, pk: int) -> HttpResponse:
    def done(job: Job) -> str:
        if job.is_over:
            return f"Job {pk} is cancelled."
        return f"Job {pk} got its checkpoint signal; it is cancelled when its run has ended."

    return _act(request, pk, lambda job: cancel_job(by=request.user, job=job), done)  # type: ignore[arg-type]


@require_POST
@page
def hold(request: HttpRequest, pk: int) -> HttpResponse:
    reason = request.POST.get("reason", "")
    return _act(
        request,
        pk,
        lambda job: hold_job(by=request.user, job=job, reason=reason),  # type: ignore[arg-type]
        lambda job: f"Job {pk} is on hold. It keeps its age, and starts only after somebody releases it.",
    )


@require_POST
@page
def release(request: HttpRequest, pk: int) -> HttpResponse:
    return _act(
        request,
        pk,
        lambda job: release_job(by=request.user, job=job),  # type: ignore[arg-type]
        lambda job: f"Job {pk} is back in the queue, at its old place.",
    )
