"""The gangs over time: what each waited, started, ran and lost, and what is reserved ahead."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import Q

from cluster.models import Job, JobState, Reservation, Run, RunOutcome
from tenancy.permissions import Action, Grants

MOST_LANES = 24


@dataclass(frozen=True)
class Band:
    """A stretch of one gang's life. `kind`: waiting, starting, running, stopping, lost, reserved."""

    kind: str
    start: datetime
    end: datetime
    note: str = ""


@dataclass
class Lane:
    job_id: int
    label: str
    gpus: int
    tenant: str
    tier: str
    bands: list[Band] = field(default_factory=list)


@dataclass(frozen=True)
class Timeline:
    start: datetime
    now: datetime
    end: datetime
    lanes: list[Lane]


def lanes(now: datetime, grants: Grants, hours: float = 12.0, limit: int = MOST_LANES) -> Timeline:
    """The largest gangs that waited or ran in the last hours; in four queries."""
    start = now - timedelta(hours=hours)
    jobs = list(
        Job.objects.filter(Q(ended_at__isnull=True) | Q(ended_at__gt=start), gpus__gt=1)
        .select_related("tenant", "owner")
        .order_by("-gpus", "queued_at", "id")[:limit]
    )
    runs: dict[int, list[Run]] = defaultdict(list)
    for run in Run.objects.filter(job__in=jobs).order_by("number"):
        runs[run.job_id].append(run)
    reserved = {r.job_id: r for r in Reservation.objects.filter(job__in=jobs, closed_at__isnull=True)}
    visible = grants.tenants(Action.SEE_JOB)
    found = [
        Lane(
            job.pk,
            job.name if job.tenant_id in visible else f"job {job.pk}",
            job.gpus,
            job.tenant.name,
            job.tier,
            _bands(job, runs[job.pk], reserved.get(job.pk), start, now),
        )
        for job in jobs
    ]
    ends = [band.end for lane in found for band in lane.bands]
    furthest = min(max([now, *ends]), now + timedelta(hours=hours / 2))
    return Timeline(start, now, furthest + (furthest - start) * 0.02, found)


def _bands(
    job: Job, runs: Iterable[Run], reservation: Reservation | None, start: datetime, now: datetime
) -> list[Band]:
    bands, waited_from = [], job.submitted_at
    for run in runs:
        bands.append(Band("waiting", waited_from, run.planned_at))
        bands += _run_bands(job, run, now)
        waited_from = run.ended_at or now
    if job.state == JobState.PENDING:
        bands.append(Band("waiting", waited_from, now))
        if reservation is not None:
            bands += _reserved(job, reservation, now)
    return [Band(b.kind, max(b.start, start), b.end, b.note) for b in bands if b.end > max(b.start, start)]


def _run_bands(job: Job, run: Run, now: datetime) -> list[Band]:
    end = run.ended_at or now
    ready = run.ready_at or end
    stopping = run.stop_requested_at or end
    bands = [
        Band("starting", run.planned_at, min(ready, end), f"run {run.number}"),
        Band("running", ready, min(stopping, end), f"run {run.number}"),
    ]
    if stopping < end:
        bands.append(
            Band(
                "stopping",
                max(stopping, run.planned_at),
                end,
                f"run {run.number}: {run.get_stop_reason_display()}",
            )
        )
    if run.outcome in (RunOutcome.NODE_FAILURE, RunOutcome.START_FAILED, RunOutcome.FAILED):
        bands.append(
            Band("lost", end - timedelta(seconds=90), end, f"run {run.number}: {run.get_outcome_display()}")
        )
    if run.ended_at is None and run.ready_at is not None:
        left = timedelta(seconds=max(0.0, job.expected_duration_s - run.resumed_from_s))
        bands.append(Band("expected", now, max(now, run.ready_at + left), "if it runs as long as expected"))
    return bands


def _reserved(job: Job, reservation: Reservation, now: datetime) -> list[Band]:
    begins = max(now, reservation.ready_at or now)
    ends = begins + timedelta(seconds=max(60.0, job.expected_duration_s - job.progress_s))
    gathering = Band("gathering", now, begins, "gathering its nodes")
    return [gathering, Band("reserved", begins, ends, "reserved from then on")]
