"""From a trace and a cluster description to what the replay loop takes: a fleet, tenants and work."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cluster.imports.description import ClusterDescription
from cluster.scheduler.fleet import Fleet, NodeView, members_of
from cluster.scheduler.replay import Work
from cluster.scheduler.supply import Supply
from cluster.scheduler.words import Locality, Tier
from cluster.scheduler.world import Shape, TenantView
from cluster.traces import Trace, TraceJob
from cluster.traces.estimates import ESTIMATES_NOTE, estimate_s
from cluster.traces.notes import Tally

CHECKPOINT_COST_S = 60.0
CHECKPOINT_INTERVAL_S = 1800.0
RESTART_COST_S = 120.0
ASSUMED = [
    ESTIMATES_NOTE,
    f"Every job is taken to checkpoint every {CHECKPOINT_INTERVAL_S / 60:.0f} minutes and on a signal, in "
    f"{CHECKPOINT_COST_S:.0f} s, and to lose {RESTART_COST_S:.0f} s at each restart.",
    "A job without a tier is taken as research; all but production may be preempted.",
    "Nodes do not fail, and users do not react to their waits.",
]


@dataclass(frozen=True)
class Setup:
    """All that a replay needs; `work` is made anew for each, because a replay writes on it."""

    fleet: Fleet
    tenants: Mapping[str, TenantView]
    jobs: Sequence[TraceJob]
    shapes: Sequence[Shape]
    """the shape of each job"""
    notes: list[str] = field(default_factory=list)

    def work(self) -> list[Work]:
        return [
            Work(
                id=number,
                shape=shape,
                submit_s=job.submit_s,
                duration_s=job.duration_s,
                expected_s=float(estimate_s(job.duration_s)),
                checkpoint_interval_s=CHECKPOINT_INTERVAL_S,
                restart_cost_s=RESTART_COST_S,
            )
            for number, (job, shape) in enumerate(zip(self.jobs, self.shapes, strict=True), start=1)
        ]

    @property
    def installed_gpus(self) -> int:
        return sum(self.fleet.installed_gpus.values())


def set_up(
    trace: Trace, description: ClusterDescription, tenant_names: Mapping[str, str], models: Sequence[str]
) -> Setup:
    """The replay of a trace on a cluster. Jobs that could never run there are left out and counted."""
    fleet = fleet_of(description)
    tenants, notes = _tenants(description, {tenant_names[name] for name in trace.tenants})
    sizes = {model: fleet.node_size(model) for model in fleet.installed_gpus}
    whole = Supply(fleet, [node.gpus for node in fleet.nodes])
    known: dict[Shape, Shape | None] = {}
    """shape → the one object all equal ones share; None for one that never fits"""
    jobs, shapes, left_out = [], [], Tally("job")
    for number, (job, model) in enumerate(zip(trace.jobs, models, strict=True), start=1):
        shape = _shape(job, tenant_names[job.tenant], model, sizes.get(model, 0))
        if shape not in known:
            known[shape] = shape if whole.fits(shape.members, model, shape.required) else None
        kept = known[shape]
        if kept is None:
            left_out.add(f"asks for {job.gpus} GPUs of {model}, which this cluster can never give", number)
        else:
            jobs.append(job)
            shapes.append(kept)
    return Setup(fleet, tenants, jobs, shapes, notes + left_out.statements("Left out") + ASSUMED)


def fleet_of(description: ClusterDescription) -> Fleet:
    return Fleet(
        NodeView(node.name, node.gpu_model, node.gpus, node.block, node.pod) for node in description.nodes
    )


def _tenants(description: ClusterDescription, used: set[str]) -> tuple[dict[str, TenantView], list[str]]:
    views = {
        tenant.name: TenantView(
            tenant.name,
            tenant.parent,
            tenant.weight,
            tenant.entitlement,
            tenant.lending_limit,
            tenant.borrowing_limit,
        )
        for tenant in description.tenants
    }
    missing = sorted(used - set(views))
    views |= {name: TenantView(name) for name in missing}
    notes = (
        [f"The cluster does not name these tenants; they are entitled to nothing: {', '.join(missing)}."]
        if missing
        else []
    )
    return views, notes


def _shape(job: TraceJob, tenant: str, model: str, node_gpus: int) -> Shape:
    tier = Tier(job.tier or Tier.RESEARCH)
    return Shape(
        tenant=tenant,
        tier=tier,
        model=model,
        members=members_of(job.gpus, node_gpus, job.nodes),
        required=Locality.CLUSTER,
        preferred=Locality.BLOCK,
        preemptible=tier is not Tier.PRODUCTION,
        out_s=CHECKPOINT_COST_S,
    )
