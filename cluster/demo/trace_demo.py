"""The demonstration on a public trace: its tenants, its jobs, its clock, on the cluster derived for it."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone

from cluster.demo.arrivals import add_arrivals, under_way
from cluster.demo.generator import GeneratedJob
from cluster.demo.history import HOURS, live_through, set_up_clock
from cluster.imports.loader import cluster_from
from cluster.services.import_cluster import import_cluster
from cluster.traces import Trace, TraceJob, read_trace
from cluster.traces.cluster_for import TraceCluster, cluster_for
from cluster.traces.estimates import ESTIMATES_NOTE, estimate_s
from cluster.traces.load import WEEK_S, busiest_week
from cluster.traces.naming import user_names

CRASHED = ("FAILED", "TIMEOUT", "NODE_FAIL", "Failed")
CHECKPOINT = {"on_signal": True, "interval_s": 1800, "cost_s": 60, "grace_s": 120}
CHECKPOINT_NOTE = (
    "Checkpoints are assumed: every 30 minutes and on a signal, 60 s each, within 120 s of grace."
)


def seed_trace(path: str, seed: int) -> tuple[tuple[str, ...], list[str]]:
    """Gives the sign-ins and everything assumed. Raises TraceError when the file cannot be used."""
    trace = read_trace(path)
    derived = cluster_for(trace)
    people = _People(trace, derived)
    began = _clock_zero(trace)
    start_s = _start_s(trace)
    start = began + timedelta(seconds=start_s)
    set_up_clock(start, seed)
    described = cluster_from(derived.data | {"users": people.users()}, f"the cluster for {trace.source}")
    import_cluster(described.description, now=start, source=trace.source)
    entries = list(_entries(trace, derived, people, began))
    running = under_way(entries, start)
    later = [(at, entry) for at, _, entry in entries if at >= start]
    arrivals = [(start, entry) for entry in running] + later
    add_arrivals((number + 1, GeneratedJob(at, entry)) for number, (at, entry) in enumerate(arrivals))
    live_through(start, start + HOURS)
    return people.sign_ins, [*trace.notes, *derived.notes, *_notes(trace, start_s, len(running))]


def _clock_zero(trace: Trace) -> datetime:
    """The trace's start on our clock: its own, taken as UTC if it names no zone; now if it names no time."""
    if trace.start_at is None:
        return timezone.now().replace(microsecond=0) - HOURS
    return trace.start_at if trace.start_at.tzinfo else trace.start_at.replace(tzinfo=UTC)


def _start_s(trace: Trace) -> float:
    """The busiest week, where there is something to decide."""
    return busiest_week(trace.jobs)[0] * WEEK_S


def _notes(trace: Trace, start_s: float, running: int) -> list[str]:
    notes = [CHECKPOINT_NOTE, ESTIMATES_NOTE, "Jobs without a tier are taken as research."]
    if start_s:
        notes.append(
            f"The demonstration begins with week {round(start_s / WEEK_S) + 1}, the busiest; {running:,} "
            "earlier jobs that would still run then are submitted at once with what is left of them."
        )
    if trace.start_at is not None and trace.start_at.tzinfo is None:
        notes.append("Times without a zone are shown as UTC.")
    return notes


def _entries(
    trace: Trace, derived: TraceCluster, people: "_People", began: datetime
) -> Iterator[tuple[datetime, float, dict[str, Any]]]:
    """(submission, seconds held, entry in the form of a jobs file) of each job."""
    for job, model in zip(trace.jobs, derived.models, strict=True):
        entry = {
            "name": job.job_id[:128],
            "tenant": derived.tenant_names[job.tenant],
            "owner": people.owner_of(job),
            "tier": job.tier or "research",
            "kind": job.kind or "training",
            "gpus": job.gpus,
            "nodes": job.nodes,
            "gpu_model": model,
            "expected_duration_s": estimate_s(job.duration_s),
            "checkpoint": CHECKPOINT,
            "workload": _workload(job),
        }
        yield began + timedelta(seconds=job.submit_s), job.duration_s, entry


def _workload(job: TraceJob) -> dict[str, Any]:
    """The true run time, for the simulated engine alone. A job that crashed would have gone on."""
    if job.status in CRASHED:
        return {"work_s": 2 * job.duration_s + 1, "fail_after_s": job.duration_s}
    return {"work_s": max(1.0, job.duration_s)}


class _People:
    """The trace's users as ours, and the demonstration's own sign-ins."""

    def __init__(self, trace: Trace, derived: TraceCluster) -> None:
        self.tenants = derived.tenant_names
        hours = Counter[str]()
        self.seats: dict[str, set[str]] = {}
        """user → tenants in which the user submits"""
        self.names = user_names(job.user for job in trace.jobs if job.user)
        for job in trace.jobs:
            hours[job.tenant] += job.gpu_hours
            self.seats.setdefault(self.owner_of(job), set()).add(self.tenants[job.tenant])
        self.largest = self.tenants[hours.most_common(1)[0][0]]
        self.sign_ins = ("owner", f"admin-{self.largest}", "release", "researcher", "viewer")

    def owner_of(self, job: TraceJob) -> str:
        """The trace's user; where it names none, one user for each tenant."""
        return self.names[job.user] if job.user else f"jobs-of-{self.tenants[job.tenant]}"

    def users(self) -> list[dict[str, Any]]:
        owner, admin, release, researcher, viewer = self.sign_ins
        fixed = [
            {"name": owner, "roles": [{"role": "cluster_owner"}]},
            {"name": admin, "roles": [{"role": "tenant_admin", "tenant": self.largest}]},
            {"name": release, "roles": [{"role": "release_owner"}]},
            {"name": researcher, "roles": [{"role": "researcher", "tenant": self.largest}]},
            {"name": viewer, "roles": [{"role": "viewer"}]},
        ]
        return fixed + [
            {"name": name, "roles": [{"role": "researcher", "tenant": tenant} for tenant in sorted(tenants)]}
            for name, tenants in sorted(self.seats.items())
        ]
