"""A plan: what to do with every pending job, and to whom."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from cluster.scheduler.spread import Choice
from cluster.scheduler.verdict import Verdict
from cluster.scheduler.words import PreemptionRule
from cluster.scheduler.world import JobView, ReservationView, Shape


@dataclass(frozen=True, slots=True)
class Start:
    """Start this job's whole gang now."""

    job_id: int
    placement: Mapping[int, int]
    """node index → GPUs"""
    entitled: bool
    is_backfill: bool = False


@dataclass(frozen=True, slots=True)
class Eviction:
    """Stop this run by contract, for that job."""

    run_id: int
    for_job: int
    rule: PreemptionRule
    level: str
    lost_gpu_hours: float


@dataclass(frozen=True, slots=True)
class Hold:
    """Why jobs of one shape are not started. Shared by all of them."""

    shape: Shape
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True)
class Plan:
    """The decisions of one tick. Every pending job is started or held, never both."""

    starts: tuple[Start, ...] = ()
    holds: Mapping[Shape, Hold] = field(default_factory=dict)
    """for all jobs of a shape that were not started"""
    own_holds: Mapping[int, Hold] = field(default_factory=dict)
    """by job id, before the shape's: set aside, or with a reservation of its own"""
    evictions: tuple[Eviction, ...] = ()
    reservations: Mapping[int, ReservationView] = field(default_factory=dict)
    """by job id: all that stand after this tick; one that is missing has been given up"""
    secured: frozenset[int] = frozenset()
    """gangs whose set is whole when the runs that were told to stop have left"""
    choices: Mapping[int, Choice] = field(default_factory=dict)
    """by job id, where it was weighed: start now spread out, or wait for a compact set"""
    solver: str = "greedy"

    def hold_of(self, job: JobView) -> Hold | None:
        """Why this job is held; None if it is started."""
        if job.id in self.started_ids:
            return None
        return self.own_holds.get(job.id) or self.holds.get(job.shape)

    @cached_property
    def started_ids(self) -> frozenset[int]:
        return frozenset(start.job_id for start in self.starts)
