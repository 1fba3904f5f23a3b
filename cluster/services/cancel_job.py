"""Cancel a job: out of the queue at once, or by contract if it runs."""

from datetime import datetime

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F

from cluster import clock
from cluster.models import Decision, Job, JobState, Reservation, Run, RunOutcome, RunState
from cluster.services.append_event import append_event, job_event
from cluster.services.stop_run import stop_run
from tenancy.models import User
from tenancy.permissions import Action, Grants, require


@transaction.atomic
def cancel_job(*, by: User, job: Job) -> Job:
    """The job, cancelled or on its way to be. Raises NotAllowed, or ValidationError if it is over."""
    require(Grants(by).may_change(job), Action.CHANGE_JOB, f"tenant {job.tenant}")
    at = clock.now()
    # Its run may end between the two, and the job stand in the queue again: hence the second look there.
    if not (_leave_queue(job, by, at) or _stop_run(job, by, at) or _leave_queue(job, by, at)):
        job.refresh_from_db()
        raise ValidationError(
            f"job {job.pk} is {job.get_state_display()} already: there is nothing to cancel"
        )
    job.refresh_from_db()
    return job


def _leave_queue(job: Job, by: User, at: datetime) -> bool:
    waiting = Job.objects.filter(pk=job.pk, state=JobState.PENDING).update(
        state=JobState.CANCELLED, state_reason=f"by {by}", ended_at=at, version=F("version") + 1
    )
    if waiting:
        Reservation.objects.filter(job=job, closed_at=None).update(closed_at=at)
        Decision.objects.filter(job=job, superseded_at=None).update(superseded_at=at)
        append_event(job_event("job.cancelled", job, at=at, job=job.pk, by=str(by)))
    return bool(waiting)


def _stop_run(job: Job, by: User, at: datetime) -> bool:
    """The run gets its checkpoint signal and grace window; its GPUs are free when the engine says so."""
    run = Run.objects.exclude(state=RunState.ENDED).select_related("job").filter(job=job).first()
    if run is None:
        return False
    if stop_run(run, reason=RunOutcome.CANCELLED, at=at) is None:
        # A run that is already leaving for another reason must not be requeued when it is out.
        leaving = Run.objects.filter(pk=run.pk, state=RunState.STOPPING)
        if not leaving.update(stop_reason=RunOutcome.CANCELLED):
            return False
    append_event(job_event("job.cancelling", job, at=at, job=job.pk, by=str(by)))
    return True
