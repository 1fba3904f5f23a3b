"""Cancel a job: out of the queue at once, or by contract if it runs."""

from datetime import timedelta

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F

from cluster import clock
from cluster.models import Decision, Job, JobState, Reservation, Run, RunOutcome, RunState
from cluster.services.append_event import append_event, job_event
from tenancy.models import User
from tenancy.permissions import Action, Grants, require

LIVE = (RunState.LAUNCHING, RunState.STARTING, RunState.RUNNING)


@transaction.atomic
def cancel_job(*, by: User, job: Job) -> Job:
    """The job, cancelled or on its way to be. Raises NotAllowed, or ValidationError if it is over."""
    require(Grants(by).may_change(job), Action.CHANGE_JOB, f"tenant {job.tenant}")
    at = clock.now()
    waiting = Job.objects.filter(pk=job.pk, state=JobState.PENDING).update(
        state=JobState.CANCELLED, state_reason=f"by {by}", ended_at=at, version=F("version") + 1
    )
    if waiting:
        Reservation.objects.filter(job=job, closed_at=None).update(closed_at=at)
        Decision.objects.filter(job=job, superseded_at=None).update(superseded_at=at)
        append_event(job_event("job.cancelled", job, at=at, job=job.pk, by=str(by)))
    else:
        _stop_run(job, by, at)
    job.refresh_from_db()
    return job


def _stop_run(job, by, at) -> None:  # type: ignore[no-untyped-def]
    """The run gets its checkpoint signal and grace window; its GPUs are free when the engine says so."""
    stopping = Run.objects.filter(job=job, state__in=LIVE).update(
        state=RunState.STOPPING,
        stop_reason=RunOutcome.CANCELLED,
        stop_requested_at=at,
        grace_until=at + timedelta(seconds=job.grace_s),
    )
    # A run that is already leaving for another reason must not be requeued when it is out.
    leaving = Run.objects.filter(job=job, state=RunState.STOPPING).update(stop_reason=RunOutcome.CANCELLED)
    if not stopping and not leaving:
        job.refresh_from_db()
        raise ValidationError(
            f"job {job.pk} is {job.get_state_display()} already: there is nothing to cancel"
        )
    append_event(job_event("job.cancelling", job, at=at, job=job.pk, by=str(by)))
