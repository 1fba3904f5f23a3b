"""The world as the planner sees it: one frozen snapshot. Times are seconds on one clock of any origin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from cluster.scheduler.fleet import Fleet
from cluster.scheduler.needs import NO_NODES, PLAIN, DataView, Needs
from cluster.scheduler.policy import Policy
from cluster.scheduler.spread import Objective
from cluster.scheduler.words import Locality, Phase, Tier

if TYPE_CHECKING:
    from cluster.scheduler.holdings import Holdings

Member = tuple[int, int]
"""(how many nodes, GPUs on each): a gang is a short tuple of these, largest GPUs first."""


@dataclass(frozen=True)
class Shape:
    """All of a job that the planner's constraints read: equal shapes get equal verdicts."""

    tenant: str
    tier: Tier
    model: str
    members: tuple[Member, ...]
    required: Locality = Locality.CLUSTER
    preferred: Locality = Locality.BLOCK
    preemptible: bool = True
    out_s: float = 180.0
    """Seconds from checkpoint signal to free GPUs, at the most: min(checkpoint, grace)."""
    draw_w: float = 0.0
    """W that each of its GPUs adds to what it draws idle; 0 where that is not known."""
    data: str = ""
    """Key of the dataset version that must be on its nodes; empty = none."""
    kind: str = ""
    """What sort of job: how much of its time it spends in communication depends on it."""
    avoids: frozenset[int] = NO_NODES
    """Nodes on which its runs failed: taken last."""

    @cached_property
    def gpus(self) -> int:
        return sum(count * gpus for count, gpus in self.members)

    @cached_property
    def node_count(self) -> int:
        return sum(count for count, _ in self.members)

    @cached_property
    def standing(self) -> int:
        """How firm its hold on GPUs is: 0 cannot be preempted, 1 research, 2 best effort."""
        if self.tier is Tier.PRODUCTION or not self.preemptible:
            return 0
        return self.tier.rank

    @cached_property
    def _hash(self) -> int:
        return hash((self.tenant, self.tier, self.model, self.members, self.required, self.out_s))

    def __hash__(self) -> int:  # shapes are dictionary keys in every inner loop
        return self._hash


@dataclass(frozen=True, slots=True)
class JobView:
    """A pending job."""

    id: int
    shape: Shape
    queued_s: float
    duration_s: float
    """Expected seconds of run still to do, restart included."""
    not_before_s: float | None = None
    admin_hold: str | None = None
    may_preempt: bool = True
    """False for a job that failed again and again soon after its start: it must first hold GPUs a while."""
    not_before_why: str = ""
    objective: Objective = Objective.COMPLETION
    deadline_s: float | None = None


@dataclass(frozen=True, slots=True)
class RunView:
    """A run that holds GPUs."""

    id: int
    job_id: int
    shape: Shape
    placement: Mapping[int, int]
    """node index → GPUs"""
    started_s: float
    expected_end_s: float
    phase: Phase = Phase.RUNNING
    saved_s: float | None = None
    """Time up to which its work is safe; None = nothing is saved, all since `started_s` would be lost."""
    restart_cost_s: float = 0.0
    is_backfill: bool = False
    preemptions_left: int = 1
    """How often a higher tier may still preempt its job; reclaim does not count."""
    free_by_s: float | None = None
    """While stopping: the end of its grace window."""
    stopping_for: int | None = None
    """While stopping: the job it gives way to."""
    queued_s: float = 0.0
    came_back: bool = False
    """Whether its job was preempted before."""

    def lost_gpu_hours(self, now_s: float) -> float:
        """GPU-hours lost by stopping it now: work since the last checkpoint + restart."""
        since = self.started_s if self.saved_s is None else self.saved_s
        return self.shape.gpus * (max(0.0, now_s - since) + self.restart_cost_s) / 3600.0


@dataclass(frozen=True, slots=True)
class ReservationView:
    """Nodes being gathered for a pending job."""

    job: JobView
    target: Mapping[int, int]
    """node index → GPUs wanted there"""
    created_s: float
    ready_s: float | None
    bound_s: float | None = None


@dataclass(frozen=True, slots=True)
class TenantView:
    """A tenant in the tree. Limits of None are unlimited; models without an entitlement have 0."""

    name: str
    parent: str | None = None
    weight: float = 1.0
    entitlement: Mapping[str, int] = field(default_factory=dict)
    lending_limit: Mapping[str, int | None] = field(default_factory=dict)
    borrowing_limit: Mapping[str, int | None] = field(default_factory=dict)


@dataclass(frozen=True)
class World:
    """Everything a plan may depend on."""

    now_s: float
    fleet: Fleet
    tenants: Mapping[str, TenantView]
    queues: Mapping[Shape, Sequence[JobView]]
    """the evaluable pending jobs of each shape, oldest first"""
    runs: Mapping[int, RunView]
    set_aside: Sequence[JobView] = ()
    """pending jobs that may not be tried now: held by an admin, or before their start time"""
    reservations: Mapping[int, ReservationView] = field(default_factory=dict)
    """by job id; only of pending jobs"""
    policy: Policy = field(default_factory=Policy)
    holdings: Holdings | None = None
    """who holds what, kept from tick to tick by whoever replays; None = counted from `runs`"""
    data: DataView = field(default_factory=DataView)

    def needs(self, shape: Shape) -> Needs:
        """What the shape asks of nodes besides free GPUs."""
        if not (shape.draw_w or shape.data or shape.avoids):
            return PLAIN
        barred, near = self.data.without_room(shape.data), self.data.holders(shape.data)
        return Needs(shape.draw_w, barred, near, shape.avoids)

    @property
    def pending(self) -> Iterator[JobView]:
        for queue in self.queues.values():
            yield from queue
        yield from self.set_aside


def queues_of(jobs: Iterable[JobView]) -> dict[Shape, list[JobView]]:
    """The jobs by shape, each queue oldest first."""
    queues: dict[Shape, list[JobView]] = {}
    for job in sorted(jobs, key=lambda j: (j.queued_s, j.id)):
        queues.setdefault(job.shape, []).append(job)
    return queues
