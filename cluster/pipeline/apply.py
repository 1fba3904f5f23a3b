"""Write a plan in one short transaction. What the world has overtaken is recorded as stale, never forced."""

from dataclasses import dataclass, field
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.db.models import Count, F

from cluster.models import (
    Allocation,
    Event,
    Job,
    JobState,
    Preemption,
    Reservation,
    ReservationNode,
    Run,
    RunOutcome,
    Tick,
)
from cluster.pipeline import explanations
from cluster.pipeline.observe import Observed
from cluster.scheduler.plan import Eviction, Plan, Start
from cluster.scheduler.world import ReservationView
from cluster.services.append_event import append_events, job_event
from cluster.services.stop_run import stop_run
from fleet.models import Gpu, Node, NodeState


@dataclass
class Applied:
    """What became of the plan."""

    waiting: dict[int, int]
    """job id → version of all that are pending now: since they were observed, a person may have acted"""
    opened: dict[int, tuple[Run, Start]] = field(default_factory=dict)
    """by run id"""
    preempted: set[int] = field(default_factory=set)
    stale: int = 0
    events: list[Event] = field(default_factory=list)

    @property
    def started(self) -> set[int]:
        """The jobs of the opened runs."""
        return {run.job_id for run, _ in self.opened.values()}

    def is_unchanged(self, job: Job) -> bool:
        return self.waiting.get(job.pk) == job.version


@transaction.atomic
def apply(observed: Observed, plan: Plan, tick: Tick) -> Applied:
    """Make the plan true in the database, under a lease that the caller has confirmed."""
    tick.save()
    applied = Applied(dict(Job.objects.filter(state=JobState.PENDING).values_list("pk", "version")))
    free = _free_gpus(observed, plan)
    numbers = _runs_so_far(plan)
    for start in plan.starts:
        _start(start, observed, tick, free, numbers.get(start.job_id, 0) + 1, applied)
    explanations.record_starts(applied.opened.values(), plan, tick)
    for eviction in plan.evictions:
        _evict(eviction, observed, tick, applied)
    _keep_reservations(observed, plan, tick, applied)
    held = (set(observed.jobs) & set(applied.waiting)) - applied.started
    applied.events += explanations.record_holds(observed, plan, tick, held)
    tick.started, tick.preempted, tick.stale = len(applied.opened), len(applied.preempted), applied.stale
    tick.pending, tick.held = len(observed.jobs), len(held)
    tick.save(update_fields=["started", "preempted", "stale", "pending", "held"])
    append_events(applied.events)
    return applied


def _free_gpus(observed: Observed, plan: Plan) -> dict[int, list[Gpu]]:
    """Free, healthy GPUs by node key, for the nodes that the plan starts something on."""
    wanted = {observed.node_ids[index] for start in plan.starts for index in start.placement}
    taken = set(
        Allocation.objects.filter(released_at=None, node_id__in=wanted).values_list("gpu_id", flat=True)
    )
    free: dict[int, list[Gpu]] = {}
    usable = Node.objects.filter(pk__in=wanted, state=NodeState.ELIGIBLE, drain_asked_at=None)
    for gpu in Gpu.objects.filter(node__in=usable, state=NodeState.ELIGIBLE).order_by("node_id", "index"):
        if gpu.pk not in taken:
            free.setdefault(gpu.node_id, []).append(gpu)
    return free


def _runs_so_far(plan: Plan) -> dict[int, int]:
    """job id → how many runs it has had; jobs that had none are missing."""
    rows = Run.objects.filter(job_id__in=[start.job_id for start in plan.starts])
    return dict(rows.order_by().values_list("job_id").annotate(n=Count("id")))


def _start(
    start: Start, observed: Observed, tick: Tick, free: dict[int, list[Gpu]], number: int, applied: Applied
) -> None:
    job = observed.jobs[start.job_id]
    picked = _pick(start, observed, free)
    try:
        with transaction.atomic():
            run = _open_run(job, start, picked, number, tick) if picked is not None else None
    except IntegrityError:
        run = None  # somebody else holds one of the GPUs: the database said so
    if run is None:
        applied.stale += 1
        return
    assert picked is not None
    for gpu in picked:
        free[gpu.node_id].remove(gpu)
    applied.opened[run.pk] = (run, start)
    applied.events.append(
        job_event(
            "job.started",
            job,
            at=tick.now,
            job=job.pk,
            run=run.number,
            gpus=job.gpus,
            backfill=run.is_backfill,
        )
    )


def _pick(start: Start, observed: Observed, free: dict[int, list[Gpu]]) -> list[Gpu] | None:
    """The GPUs of the whole gang, or None if any is missing."""
    picked: list[Gpu] = []
    for index, gpus in start.placement.items():
        here = free.get(observed.node_ids[index], [])[:gpus]
        if len(here) < gpus:
            return None
        picked += here
    return picked


def _open_run(job: Job, start: Start, gpus: list[Gpu], number: int, tick: Tick) -> Run | None:
    """Take the job out of the queue and give it its GPUs; None if the job has changed since it was read."""
    mine = Job.objects.filter(
        pk=job.pk, state=JobState.PENDING, admin_hold=False, version=job.version
    ).update(state=JobState.ACTIVE, state_reason="", not_before=None, version=F("version") + 1)
    if not mine:
        return None
    run = Run.objects.create(
        job=job,
        number=number,
        tick=tick,
        planned_at=tick.now,
        resumed_from_s=job.progress_s,
        is_backfill=start.is_backfill,
    )
    Allocation.objects.bulk_create(
        Allocation(run=run, gpu=gpu, node_id=gpu.node_id, started_at=tick.now) for gpu in gpus
    )
    return run


def _evict(eviction: Eviction, observed: Observed, tick: Tick, applied: Applied) -> None:
    """Begin the contract: the signal goes out after commit, the GPUs stay the run's until it has ended."""
    run, by = observed.runs[eviction.run_id], observed.jobs[eviction.for_job]
    deadline = None
    if applied.is_unchanged(by):  # nobody is sent away for a job that has been withdrawn meanwhile
        deadline = stop_run(run, reason=RunOutcome.PREEMPTED, at=tick.now)
    if deadline is None:
        applied.stale += 1
        return
    Preemption.objects.create(
        victim=run,
        by_job_id=eviction.for_job,
        rule=eviction.rule.value,
        level=eviction.level,
        gpus=observed.world.runs[run.pk].shape.gpus,
        signalled_at=tick.now,
        deadline=deadline,
        tick=tick,
    )
    applied.preempted.add(run.pk)
    data = {"run": run.number, "rule": eviction.rule.value, "deadline": deadline.isoformat()}
    applied.events += [
        job_event("job.preempting", run.job, at=tick.now, job=run.job_id, by_job=by.pk, **data),
        job_event("job.preempts", by, at=tick.now, job=by.pk, victim=run.job_id, **data),
    ]


def _keep_reservations(observed: Observed, plan: Plan, tick: Tick, applied: Applied) -> None:
    """Close, change and open reservations until the rows are those of the plan."""
    open_rows = {row.job_id: row for row in Reservation.objects.filter(closed_at=None)}
    wanted = {
        job_id: view
        for job_id, view in plan.reservations.items()
        if applied.is_unchanged(observed.jobs[job_id])
    }
    over = [row.pk for job_id, row in open_rows.items() if job_id not in wanted]
    Reservation.objects.filter(pk__in=over).update(closed_at=tick.now)
    draining = {e.for_job for e in plan.evictions} | {
        r.stopping_for for r in observed.world.runs.values() if r.stopping_for is not None
    }
    for job_id, view in wanted.items():
        why = Reservation.Why.DRAINING if job_id in draining else Reservation.Why.GATHERING
        row = open_rows.get(job_id) or Reservation(job_id=job_id, created_at=tick.now)
        before = observed.world.reservations.get(job_id)
        _keep(row, view, before, why, observed, tick)


def _keep(
    row: Reservation,
    view: ReservationView,
    before: ReservationView | None,
    why: str,
    observed: Observed,
    tick: Tick,
) -> None:
    times = (_moment(view.ready_s, tick), _moment(view.bound_s, tick), why)
    if (row.ready_at, row.bound_at, row.why) != times or row.pk is None:
        row.ready_at, row.bound_at, row.why = times
        # Not the whole row: it may have been closed since it was read.
        row.save(update_fields=["ready_at", "bound_at", "why"] if row.pk else None)
    if before is None or dict(before.target) != dict(view.target):
        row.nodes.all().delete()
        ReservationNode.objects.bulk_create(
            ReservationNode(reservation=row, node_id=observed.node_ids[index], gpus=gpus)
            for index, gpus in view.target.items()
        )


def _moment(seconds: float | None, tick: Tick):  # type: ignore[no-untyped-def]
    return None if seconds is None else tick.now + timedelta(seconds=seconds - tick.now.timestamp())
