"""Rows of the four apps → one frozen World, in a constant number of queries."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import Count

from cluster.models import Allocation, Job, JobState, Reservation, Run, RunOutcome, RunState
from cluster.pipeline.observe_data import read_data
from cluster.pipeline.observe_fleet import ModelView, read_fleet
from cluster.scheduler.fleet import Fleet, members_of
from cluster.scheduler.needs import NO_NODES
from cluster.scheduler.plan import Plan, Start
from cluster.scheduler.policy import Policy
from cluster.scheduler.spread import Objective, slowdown_on
from cluster.scheduler.words import Locality, Phase, Tier
from cluster.scheduler.world import JobView, ReservationView, RunView, Shape, TenantView, World, queues_of
from fleet.models import Evidence, EvidenceKind
from tenancy.models import Entitlement, PolicyVersion, Tenant

MOST_SIGHTINGS = 500
"""Of failed starts, the newest; so many are looked through for a job's own."""
FAILED_STARTS_BEFORE_LOSING_PREEMPTION = 2
PLANNED = (
    *("tenant_id", "tier", "gpus", "nodes", "gpu_model_id", "locality_required", "locality_preferred"),
    *("expected_duration_s", "preemptible", "checkpoint_on_signal", "checkpoint_cost_s", "grace_s"),
    *("restart_cost_s", "progress_s", "queued_at", "not_before", "admin_hold", "hold_reason"),
    *("retries", "version", "kind", "dataset", "dataset_gb", "gpu_draw_w", "objective", "deadline"),
)
"""All that is read of a pending job: a long queue is read at every tick."""


@dataclass(frozen=True)
class Observed:
    """The world, and what leads from it back to the rows."""

    world: World
    at: datetime
    node_ids: tuple[int, ...]
    """node index → primary key"""
    jobs: dict[int, Job]
    """pending jobs by id, with the version they were read at"""
    runs: dict[int, Run]
    """open runs by id"""
    policy_id: int | None


def observe(at: datetime) -> Observed:
    """Read everything a plan depends on."""
    version = PolicyVersion.objects.order_by("-number").first()
    policy = Policy.from_settings(version.settings) if version else Policy()
    read = read_fleet(policy, at)
    index_of = {pk: index for index, pk in enumerate(read.node_ids)}
    tenants = list(Tenant.objects.all())
    pending = Job.objects.filter(state=JobState.PENDING).only(*PLANNED).order_by("queued_at", "id")
    jobs = {job.pk: job for job in pending}
    open_runs = Run.objects.exclude(state=RunState.ENDED).select_related("job", "preemption")
    runs = {run.pk: run for run in open_runs.defer("job__workload")}
    shapes = _Shapes(read.models, policy, tenants, _avoided(jobs.values(), index_of))
    reservations = _targets(index_of)
    run_views = _runs(runs, index_of, shapes, reservations, read.fleet)
    now_s = at.timestamp()
    views = {pk: shapes.job(job, now_s) for pk, job in jobs.items()}
    aside = [v for v in views.values() if v.admin_hold is not None or (v.not_before_s or 0) > now_s]
    away = {v.id for v in aside}
    world = World(
        now_s=now_s,
        fleet=read.fleet,
        tenants=_tenants(tenants),
        queues=queues_of(v for v in views.values() if v.id not in away),
        runs=run_views,
        set_aside=aside,
        reservations={
            job_id: ReservationView(
                views[job_id], target, row.created_at.timestamp(), _s(row.ready_at), _s(row.bound_at)
            )
            for job_id, (row, target) in reservations.items()
            if job_id in views and job_id not in away and len(target) == shapes.nodes_of(jobs[job_id])
        },
        policy=policy,
        data=read_data(
            jobs.values(),
            runs.values(),
            {run_id: view.placement for run_id, view in run_views.items()},
            {job_id: target for job_id, (_, target) in reservations.items()},
            index_of,
            read.cache_gb,
            policy,
        ),
    )
    return Observed(world, at, read.node_ids, jobs, runs, version.pk if version else None)


def after(observed: Observed, plan: Plan, opened: Mapping[int, tuple[Run, Start]]) -> Observed:
    """What would be observed now that of this plan the given runs have been opened (by run id).

    Runs that it sends away hold their GPUs until they have ended: for them nothing changes yet.
    """
    world = observed.world
    views = {job.id: job for job in world.pending}
    started = {run.job_id for run, _ in opened.values()}
    runs = dict(world.runs)
    for run, start in opened.values():
        view = views[run.job_id]
        runs[run.pk] = RunView(
            id=run.pk,
            job_id=run.job_id,
            shape=view.shape,
            placement=start.placement,
            started_s=world.now_s,
            expected_end_s=world.now_s + view.duration_s * _slowdown(world, view.shape, start.placement),
            phase=Phase.STARTING,
            queued_s=view.queued_s,
        )
    queues = {
        shape: left
        for shape, queue in world.queues.items()
        if (left := [job for job in queue if job.id not in started])
    }
    jobs = {pk: job for pk, job in observed.jobs.items() if pk not in started}
    return replace(
        observed,
        world=replace(world, queues=queues, runs=runs, reservations=plan.reservations, holdings=None),
        jobs=jobs,
        runs=observed.runs | {pk: run for pk, (run, _) in opened.items()},
    )


def _slowdown(world: World, shape: Shape, placement: Mapping[int, int]) -> float:
    return slowdown_on(world.policy, shape.kind, world.fleet, placement)


def _s(moment: datetime | None) -> float | None:
    return moment.timestamp() if moment is not None else None


def _tenants(rows: Sequence[Tenant]) -> dict[str, TenantView]:
    names = {row.pk: row.name for row in rows}
    by_tenant: dict[int, list[Entitlement]] = defaultdict(list)
    for entitlement in Entitlement.objects.all():
        by_tenant[entitlement.tenant_id].append(entitlement)
    return {
        row.name: TenantView(
            row.name,
            names.get(row.parent_id) if row.parent_id else None,
            row.weight,
            {e.gpu_model: e.gpus for e in by_tenant[row.pk]},
            {e.gpu_model: e.lending_limit for e in by_tenant[row.pk]},
            {e.gpu_model: e.borrowing_limit for e in by_tenant[row.pk]},
        )
        for row in rows
    }


class _Shapes:
    """Turns jobs into shapes; equal ones are one object, so that comparing them is cheap."""

    def __init__(
        self,
        models: Mapping[int, ModelView],
        policy: Policy,
        tenants: Iterable[Tenant],
        avoided: Mapping[int, frozenset[int]],
    ) -> None:
        """`avoided`: job id → indexes of nodes on which it failed to start."""
        self.models, self.policy, self.avoided = models, policy, avoided
        self.tenants = {tenant.pk: tenant.name for tenant in tenants}
        self.known: dict[Shape, Shape] = {}
        self.made: dict[tuple[object, ...], Shape] = {}
        """by what a shape is made from: most jobs of a long queue are alike"""

    def shape(self, job: Job) -> Shape:
        key = (
            *(job.tenant_id, job.tier, job.gpu_model_id, job.gpus, job.nodes),
            *(job.locality_required, job.locality_preferred, job.preemptible),
            *(job.checkpoint_on_signal, job.checkpoint_cost_s, job.grace_s),
            *(job.kind, job.dataset, job.gpu_draw_w, self.avoided.get(job.pk)),
        )
        shape = self.made.get(key)
        if shape is None:
            made = self._make(job)
            shape = self.made[key] = self.known.setdefault(made, made)
        return shape

    def _make(self, job: Job) -> Shape:
        model = self._model(job)
        grace_s = min(float(job.grace_s), self.policy.max_grace_s)
        saves = job.checkpoint_on_signal
        return Shape(
            tenant=self.tenants[job.tenant_id],
            tier=Tier(job.tier),
            model=model.name,
            members=self.members(job),
            required=Locality(job.locality_required),
            preferred=Locality(job.locality_preferred),
            preemptible=job.is_preemptible,
            out_s=min(float(job.checkpoint_cost_s), grace_s) if saves else grace_s,
            draw_w=model.draw_w(job.gpu_draw_w),
            data=job.dataset,
            kind=job.kind,
            avoids=self.avoided.get(job.pk, NO_NODES),
        )

    def _model(self, job: Job) -> ModelView:
        return self.models.get(job.gpu_model_id) or ModelView(f"model {job.gpu_model_id}", 0)

    def members(self, job: Job) -> tuple[tuple[int, int], ...]:
        return members_of(job.gpus, self._model(job).node_gpus, job.nodes)

    def nodes_of(self, job: Job) -> int:
        return sum(count for count, _ in self.members(job))

    def job(self, job: Job, now_s: float) -> JobView:
        return JobView(
            id=job.pk,
            shape=self.shape(job),
            queued_s=job.queued_at.timestamp(),
            duration_s=max(1.0, job.expected_duration_s - job.progress_s) + job.restart_cost_s,
            not_before_s=_s(job.not_before),
            admin_hold=job.hold_reason if job.admin_hold else None,
            may_preempt=job.retries < FAILED_STARTS_BEFORE_LOSING_PREEMPTION,
            not_before_why="backoff" if job.retries else "asked",
            objective=Objective(job.objective),
            deadline_s=_s(job.deadline),
        )


def _avoided(jobs: Iterable[Job], index_of: Mapping[int, int]) -> dict[int, frozenset[int]]:
    """job id → indexes of the nodes on which its gang failed to become ready."""
    failed = {job.pk for job in jobs if job.retries}
    if not failed:
        return {}
    runs = Run.objects.filter(job_id__in=failed, outcome=RunOutcome.START_FAILED)
    job_of = {str(key): job_id for key, job_id in runs.values_list("launch_key", "job_id")}
    found: dict[int, set[int]] = defaultdict(set)
    sightings = Evidence.objects.filter(kind=EvidenceKind.FAILED_START).order_by("-id")
    for key, node_id in sightings.values_list("key", "node_id")[:MOST_SIGHTINGS]:
        job_id = job_of.get(key.split(":")[1] if ":" in key else "")
        if job_id is not None and node_id in index_of:
            found[job_id].add(index_of[node_id])
    return {job_id: frozenset(nodes) for job_id, nodes in found.items()}


def _targets(index_of: dict[int, int]) -> dict[int, tuple[Reservation, dict[int, int]]]:
    """Open reservations by job id, with their targets by node index."""
    rows = Reservation.objects.filter(closed_at=None).prefetch_related("nodes")
    return {
        row.job_id: (row, {index_of[n.node_id]: n.gpus for n in row.nodes.all() if n.node_id in index_of})
        for row in rows
    }


def _runs(
    runs: dict[int, Run],
    index_of: dict[int, int],
    shapes: _Shapes,
    reservations: dict[int, tuple[Reservation, dict[int, int]]],
    fleet: Fleet,
) -> dict[int, RunView]:
    placements: dict[int, dict[int, int]] = defaultdict(dict)
    held = (
        Allocation.objects.filter(released_at=None)
        .values_list("run_id", "node_id")
        .annotate(gpus=Count("id"))
    )
    for run_id, node_id, gpus in held.order_by("run_id", "node_id"):
        if node_id in index_of:  # else it was added since the nodes were read
            placements[run_id][index_of[node_id]] = gpus
    gathered = {index for _, target in reservations.values() for index in target}
    return {run.pk: _run_view(run, shapes, placements[run.pk], gathered, fleet) for run in runs.values()}


PHASES = {
    RunState.LAUNCHING: Phase.STARTING,
    RunState.STARTING: Phase.STARTING,
    RunState.RUNNING: Phase.RUNNING,
    RunState.STOPPING: Phase.STOPPING,
}


def _run_view(
    run: Run, shapes: _Shapes, placement: dict[int, int], gathered: Iterable[int], fleet: Fleet
) -> RunView:
    job, shape = run.job, shapes.shape(run.job)
    slowdown = slowdown_on(shapes.policy, shape.kind, fleet, placement)
    work_s = slowdown * max(0.0, job.expected_duration_s - run.resumed_from_s)
    begun = run.ready_at or run.planned_at
    end_s = begun.timestamp() + work_s + (0.0 if run.ready_at else job.restart_cost_s)
    if job.time_limit_s is not None and run.ready_at is not None:
        end_s = min(end_s, run.ready_at.timestamp() + job.time_limit_s)
    receipt = getattr(run, "preemption", None)
    return RunView(
        id=run.pk,
        job_id=run.job_id,
        shape=shape,
        placement=placement,
        started_s=run.planned_at.timestamp(),
        expected_end_s=end_s,
        phase=PHASES[RunState(run.state)],
        saved_s=_s(run.last_checkpoint_at or run.ready_at) or run.planned_at.timestamp(),
        restart_cost_s=float(job.restart_cost_s),
        is_backfill=run.is_backfill and not set(placement).isdisjoint(gathered),
        preemptions_left=max(0, job.preemption_budget - job.preemptions),
        free_by_s=_s(run.grace_until),
        stopping_for=receipt.by_job_id if receipt is not None else None,
        queued_s=job.queued_at.timestamp(),
        came_back=job.preemptions > 0,
    )
