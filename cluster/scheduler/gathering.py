"""Reservations: which nodes a blocked gang should gather so that its set is whole soonest.

Bound. A reservation's target is a fixed set of nodes on which nothing new starts except work that the gang
may send away. Its set is whole when the runs there have ended, at the latest at max(projected end of those
runs); what was backfilled is out one grace window later. A target changes only for one that is whole sooner.
So, as long as no run outlasts its expected end and no node of the target fails, the gang waits no longer than
    reserve_after + (gangs that were reserved before it) + longest remaining run on the target + grace.
"""

from dataclasses import dataclass

from cluster.scheduler.draft import Draft, Rank
from cluster.scheduler.supply import Placement
from cluster.scheduler.words import Locality, Phase
from cluster.scheduler.world import JobView, ReservationView, RunView, Shape

OVERRUN_SHARE = 0.25
"""A run past its expected end is expected to go on for this share of the time it has already run."""
LEAST_S = 60.0
MOVE_GAIN_S = 60.0
"""A target is given up only for one that is whole this much sooner."""


@dataclass(frozen=True, slots=True)
class Target:
    placement: Placement
    ready_s: float


def projected_end(run: RunView, now_s: float) -> float:
    """When the run is expected to free its GPUs, in seconds; later than `now_s`."""
    if run.phase is Phase.STOPPING:
        return max(run.free_by_s or 0.0, now_s + 1.0)
    if run.expected_end_s > now_s:
        return run.expected_end_s
    return now_s + max(LEAST_S, OVERRUN_SHARE * (now_s - run.started_s))


class Gathering:
    """The search for targets within one draft; end times are worked out once for each node."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.now_s = draft.world.now_s
        self._known_ends: tuple[int, dict[int, list[tuple[float, int]]]] = (0, {})
        """(runs evicted when they were worked out, node → ends)"""

    def refresh(self, job: JobView, rank: Rank) -> None:
        """Bring a standing reservation up to date: its expected time, or a better target."""
        old = self.draft.reservations[job.id]
        ready_s = self.ready(job, old.target)
        soon = ready_s is not None and ready_s <= self.now_s + MOVE_GAIN_S
        best = None if soon else self.best(job, rank)
        if best is not None and (ready_s is None or best.ready_s < ready_s - MOVE_GAIN_S):
            self._reserve(job, rank, best, old)
        elif ready_s is None:
            self.draft.release(job.id)
        else:
            self.draft.reserve(
                job, rank, ReservationView(job, old.target, old.created_s, ready_s, old.bound_s)
            )

    def begin(self, job: JobView, rank: Rank) -> bool:
        """Reserve the set that is whole soonest. False if there is none."""
        best = self.best(job, rank)
        if best is not None:
            self._reserve(job, rank, best, None)
        return best is not None

    def _reserve(self, job: JobView, rank: Rank, best: Target, old: ReservationView | None) -> None:
        bound_s = best.ready_s + self.draft.world.policy.max_grace_s
        created_s = self.now_s
        if old is not None:
            created_s = old.created_s
            bound_s = bound_s if old.bound_s is None else min(bound_s, old.bound_s)
        self.draft.reserve(job, rank, ReservationView(job, best.placement, created_s, best.ready_s, bound_s))

    def ready(self, job: JobView, target: Placement) -> float | None:
        """When these nodes are expected to be free for the job; None if one of them takes no work any more."""
        latest = self.now_s
        for index, gpus in target.items():
            at = self._free_at(index, gpus, job.id)
            if at is None:
                return None
            latest = max(latest, at)
        return latest

    def best(self, job: JobView, rank: Rank) -> Target | None:
        """The target whose set is whole soonest, within the required locality."""
        barred = self._barred(job.id, rank)
        shape = job.shape
        if shape.required is Locality.NODE and shape.node_count > 1:
            return None
        found: Target | None = None
        for domain in self.draft.world.fleet.at(shape.model, shape.required):
            target = self._soonest(shape, domain, barred, job.id)
            if target is not None and (found is None or target.ready_s < found.ready_s):
                found = target
        return found

    def _barred(self, job_id: int, rank: Rank) -> set[int]:
        """Nodes that other gangs are gathering and that this one may not take."""
        barred: set[int] = set()
        for other, reservation in self.draft.reservations.items():
            if other != job_id and not rank.beats(self.draft.rank_of[other]):
                barred.update(reservation.target)
        return barred

    def _soonest(self, shape: Shape, domain: int, barred: set[int], job_id: int) -> Target | None:
        placement: Placement = {}
        ready_s = self.now_s
        for count, gpus in shape.members:
            times = self._times(domain, gpus, barred, placement, job_id)
            if len(times) < count:
                return None
            times.sort()
            for at, index in times[:count]:
                placement[index] = gpus
                ready_s = max(ready_s, at)
        return Target(placement, ready_s)

    def _times(
        self, domain: int, gpus: int, barred: set[int], taken: Placement, job_id: int
    ) -> list[tuple[float, int]]:
        times = []
        for index in self.draft.world.fleet.domain_nodes[domain]:
            if index not in barred and index not in taken:
                at = self._free_at(index, gpus, job_id)
                if at is not None:
                    times.append((at, index))
        return times

    def _free_at(self, index: int, gpus: int, job_id: int) -> float | None:
        """When this node is expected to have so many GPUs free for the job; None = never."""
        node = self.draft.world.fleet.nodes[index]
        if not node.usable or node.gpus < gpus:
            return None
        free = self.draft.open.free[index] + self.draft.locks.get(job_id, {}).get(index, 0)
        if free >= gpus:
            return self.now_s
        for at, freed in self._ends_on(index):
            free += freed
            if free >= gpus:
                return at
        return None

    def _ends_on(self, index: int) -> list[tuple[float, int]]:
        """(time, GPUs freed) of the runs on a node, soonest first."""
        if self._known_ends[0] != len(self.draft.gone):
            self._known_ends = (len(self.draft.gone), {})
        ends = self._known_ends[1].get(index)
        if ends is None:
            ends = sorted((self._out(run), run.placement[index]) for run in self.draft.runs_on(index))
            self._known_ends[1][index] = ends
        return ends

    def _out(self, run: RunView) -> float:
        """When the run frees its GPUs; one that this plan evicts is out after its grace window."""
        end = projected_end(run, self.now_s)
        if run.id in self.draft.gone:
            return min(end, self.now_s + run.shape.out_s)
        return end
