"""Submit what is due, and draw the next day of the generated workload before it is needed."""

import logging
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Count, Sum

from cluster.demo import calibration as fit
from cluster.demo.generator import GeneratedJob, Generator
from cluster.imports.jobs_schema import JobEntry
from cluster.models import Arrival, Job, JobState, SimulatedClock
from cluster.services.submit_jobs import submit_entry
from fleet.models import Gpu, Node
from tenancy.models import User
from tenancy.permissions import NotAllowed

log = logging.getLogger(__name__)

MOST_AT_ONCE = 200
"""Jobs submitted by one call, so that it stays short."""
AHEAD = timedelta(hours=12)
KEPT = timedelta(days=1)
IDS_OF_A_DAY = 100_000


def submit_due(now: datetime) -> int:
    """Submit the arrivals whose time has come; gives how many were due. None is ever submitted twice."""
    due = list(Arrival.objects.filter(submitted=False, submit_at__lte=now)[:MOST_AT_ONCE])
    patient = not due or _are_patient()
    for arrival in due:
        if patient or not is_generated(arrival):
            _submit(arrival)
        else:
            Arrival.objects.filter(pk=arrival.pk).update(submitted=True)
    draw_ahead(now)
    return len(due)


def _are_patient() -> bool:
    """Generated users hold back while much is waiting already; without this the queue would grow for ever."""
    waiting = Job.objects.filter(state=JobState.PENDING).aggregate(gpus=Sum("gpus"))["gpus"] or 0
    return waiting <= fit.PATIENCE * Gpu.objects.count()


@transaction.atomic
def _submit(arrival: Arrival) -> bool:
    mine = Arrival.objects.filter(pk=arrival.pk, submitted=False).update(submitted=True)
    if not mine:
        return False
    entry = JobEntry.model_validate(arrival.spec)
    owner = User.objects.filter(username=entry.owner).first()
    if owner is None:
        log.warning("arrival %s has no owner named %s: it was not submitted", arrival.pk, entry.owner)
        return False
    try:
        with transaction.atomic():
            submit_entry(entry, owner)
    except (NotAllowed, ValidationError) as refusal:
        log.warning("arrival %s (%s) was refused: %s", arrival.pk, entry.name, refusal)
        return False
    return True


# the generated workload


def draw_ahead(now: datetime) -> None:
    """Draw the next day when the last one drawn is nearly over. Does nothing where a trace is replayed."""
    last = Arrival.objects.order_by("-submit_at").first()
    if last is None or not is_generated(last) or last.submit_at > now + AHEAD:
        return
    add_generated(generator(), last.submit_at.date() + timedelta(days=1))
    Arrival.objects.filter(submitted=True, submit_at__lt=now - KEPT).delete()


def is_generated(arrival: Arrival) -> bool:
    return bool(arrival.spec.get("workload", {}).get("generated"))


def generator() -> Generator:
    """The generator for the cluster as it is installed."""
    clock = SimulatedClock.objects.get(name="clock")
    rows = (
        Node.objects.values_list("gpu_model__name").annotate(gpus=Count("gpus")).order_by("gpu_model__name")
    )
    return Generator(dict(rows), seed=clock.seed)


def add_generated(drawn: Generator, day: date, since: datetime | None = None) -> None:
    """Write one day's arrivals. Their keys follow from the day, so writing a day twice changes nothing."""
    jobs = drawn.day(day)
    first = day.toordinal() * IDS_OF_A_DAY
    add_arrivals(
        (first + number, job) for number, job in enumerate(jobs) if since is None or job.submit_at >= since
    )


def add_arrivals(numbered: Iterable[tuple[int, GeneratedJob]]) -> None:
    rows = [Arrival(pk=pk, submit_at=job.submit_at, spec=job.entry) for pk, job in numbered]
    Arrival.objects.bulk_create(rows, batch_size=2000, ignore_conflicts=True)


def under_way(jobs: Iterable[tuple[datetime, float, dict[str, Any]]], at: datetime) -> list[dict[str, Any]]:
    """The entries of jobs that would be running at a moment if each had started when it was submitted.

    `jobs`: (submission, seconds it holds its GPUs, entry). Each entry asks for what is left of its run.
    """
    found = []
    for submit_at, held_s, entry in jobs:
        gone_s = (at - submit_at).total_seconds()
        if not 0 < gone_s < held_s:
            continue
        workload = dict(entry["workload"])
        workload["work_s"] = max(1.0, workload["work_s"] - gone_s)
        if "fail_after_s" in workload:
            workload["fail_after_s"] = max(1.0, workload["fail_after_s"] - gone_s)
        expected_s = max(60, round(entry["expected_duration_s"] - gone_s))
        found.append(entry | {"workload": workload, "expected_duration_s": expected_s})
    return found
