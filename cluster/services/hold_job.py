"""Hold a pending job back, and release it."""

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F

from cluster import clock
from cluster.models import Job, JobState, Reservation
from cluster.services.append_event import append_event, job_event
from tenancy.models import User
from tenancy.permissions import Action, Grants, require


@transaction.atomic
def hold_job(*, by: User, job: Job, reason: str) -> Job:
    """The job, held with its reason and owner. Raises NotAllowed or ValidationError."""
    require(Grants(by).may_change(job), Action.CHANGE_JOB, f"tenant {job.tenant}")
    if not reason.strip():
        raise ValidationError({"reason": "say why the job is held: whoever waits for it will read it"})
    held = Job.objects.filter(pk=job.pk, state=JobState.PENDING).update(
        admin_hold=True, hold_reason=reason.strip()[:200], hold_by=by, version=F("version") + 1
    )
    if not held:
        job.refresh_from_db()
        raise ValidationError(f"job {job.pk} is {job.get_state_display()}: only a pending job can be held")
    at = clock.now()
    Reservation.objects.filter(job=job, closed_at=None).update(closed_at=at)
    append_event(job_event("job.on_hold", job, at=at, job=job.pk, by=str(by), reason=reason.strip()))
    job.refresh_from_db()
    return job


@transaction.atomic
def release_job(*, by: User, job: Job) -> Job:
    """The job, back in the queue with its age. Raises NotAllowed or ValidationError."""
    require(Grants(by).may_change(job), Action.CHANGE_JOB, f"tenant {job.tenant}")
    released = Job.objects.filter(pk=job.pk, admin_hold=True).update(
        admin_hold=False, hold_reason="", hold_by=None, version=F("version") + 1
    )
    if not released:
        raise ValidationError(f"job {job.pk} is not held: there is nothing to release")
    append_event(job_event("job.released", job, at=clock.now(), job=job.pk, by=str(by)))
    job.refresh_from_db()
    return job
