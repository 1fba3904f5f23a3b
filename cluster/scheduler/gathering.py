"""Reservations: which nodes a blocked gang should gather so that its set is whole soonest.

Bound. A reservation's target is a fixed set of nodes on which nothing new starts except work that leaves in
time or that the gang may send away; such work counts as out as soon as it can be. Its set is whole when the
other runs there have ended, at the latest at max(projected end of those runs). A target changes only for one
that is whole sooner. So, as long as no run outlasts its expected end, no node of the target fails and no
higher tier takes it, the gang waits, once it has the quota (see saving.py), no longer than
    reserve_after + (gangs that were reserved before it) + longest remaining run on the target + grace.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from cluster.scheduler.draft import Draft, Rank
from cluster.scheduler.ends import projected_end
from cluster.scheduler.power_ahead import Freed, PowerAhead
from cluster.scheduler.spread import Option, blocks_of, exposed_share, level_of, slowdown_on
from cluster.scheduler.supply import LEVELS, Placement
from cluster.scheduler.words import Locality
from cluster.scheduler.world import JobView, ReservationView, RunView, Shape

MOVE_GAIN_S = 60.0
"""A target is given up only for one whose gang is done this much sooner."""


@dataclass(frozen=True, slots=True)
class Target:
    """Nodes to gather, when they are whole, and when the gang would be done there."""

    placement: Mapping[int, int]
    ready_s: float
    done_s: float


class Gathering:
    """The search for targets within one draft; end times are worked out once for each node."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.now_s = draft.world.now_s
        self._known_ends: tuple[int, dict[int, list[tuple[float, int]]]] = (0, {})
        """(runs evicted when they were worked out, node → ends)"""
        self._known_frees: tuple[int, list[tuple[frozenset[int], Freed]]] = (-1, [])

    def refresh(self, job: JobView, rank: Rank) -> None:
        """Bring a standing reservation up to date: its expected time, or a better target."""
        old = self.draft.reservations[job.id]
        # A target that is whole, and yet the gang did not start on it, is of no use.
        ready_s = self.ready(job, rank, old.target) if self.draft.unfilled(job.id) else None
        soon = ready_s is not None and ready_s <= self.now_s + MOVE_GAIN_S
        best = None if soon else self.best(job, rank)
        stays = None if ready_s is None else self.target(job, old.target, ready_s)
        if best is not None and (stays is None or best.done_s < stays.done_s - MOVE_GAIN_S):
            self.reserve(job, rank, best, old)
        elif stays is None:
            self.draft.release(job.id)
        else:
            self.reserve(job, rank, stays, old)

    def begin(self, job: JobView, rank: Rank) -> bool:
        """Reserve the set on which the gang would be done soonest. False if there is none."""
        best = self.best(job, rank)
        if best is not None:
            self.reserve(job, rank, best, None)
        return best is not None

    def option(self, job: JobView, placement: Mapping[int, int], start_s: float) -> Option:
        """What it means for the job to start on these nodes at this time."""
        world, fleet = self.draft.world, self.draft.world.fleet
        factor = slowdown_on(world.policy, job.shape.kind, fleet, placement)
        runs_s = job.duration_s * factor + world.data.stage_s(job.shape.data, placement)
        return Option(
            start_s,
            start_s + runs_s,
            job.shape.gpus * runs_s / 3600.0,
            level_of(fleet, placement),
            blocks_of(fleet, placement),
            factor,
        )

    def target(self, job: JobView, placement: Mapping[int, int], ready_s: float) -> Target:
        """These nodes, whole at that time, as a target for the job."""
        return Target(placement, ready_s, self.option(job, placement, ready_s).done_s)

    def await_victims(self, job: JobView, rank: Rank, placement: Placement) -> None:
        """Reserve the place of a gang for which runs have been sent away: it is whole when they are out."""
        old = self.draft.reservations.get(job.id)
        created_s = old.created_s if old else self.now_s
        # First the lock: what is free on the target now is not to be waited for.
        self.draft.reserve(job, rank, ReservationView(job, placement, created_s, None))
        ready_s = self.ready(job, rank, placement)
        bound_s = None if ready_s is None else self._bound(old, ready_s, ready_s)
        self.draft.reserve(job, rank, ReservationView(job, placement, created_s, ready_s, bound_s))

    def reserve(self, job: JobView, rank: Rank, target: Target, old: ReservationView | None) -> None:
        """Let the gang gather this target from now on."""
        bound_s = self._bound(old, target.ready_s, target.ready_s + self.draft.world.policy.max_grace_s)
        created_s = old.created_s if old is not None else self.now_s
        view = ReservationView(job, target.placement, created_s, target.ready_s, bound_s)
        self.draft.reserve(job, rank, view)

    @staticmethod
    def _bound(old: ReservationView | None, ready_s: float, fresh_s: float) -> float:
        """A bound that was shown stands, or comes nearer, unless it cannot be kept any more."""
        if old is None or old.bound_s is None or old.bound_s < ready_s:
            return fresh_s
        return min(old.bound_s, fresh_s)

    def ready(self, job: JobView, rank: Rank, target: Mapping[int, int]) -> float | None:
        """When these nodes are expected to be free for the job; None if one of them never will be."""
        room = self._room(job, rank)
        ahead = self._wanted_ahead(job.id, rank, target)
        latest = self.now_s
        if not self.draft.needs(job.shape).barred.isdisjoint(target):
            return None
        for index, gpus in target.items():
            at = self._free_at(index, gpus + ahead.get(index, 0), room, job)
            if at is None:
                return None
            latest = max(latest, at)
        power = self._power_ahead(job, rank, target)
        return latest if power is None else power.allowed_from(target, job.shape.draw_w, latest)

    def best(self, job: JobView, rank: Rank, closest: Locality | None = None) -> Target | None:
        """The target on which the gang would be done soonest, within the required locality.

        Sets that are closer together than required are looked at too where that makes the gang faster.
        `closest`: only sets within one domain of this level.
        """
        shape = job.shape
        if shape.required is Locality.NODE and shape.node_count > 1:
            return None
        barred = self._barred(job.id, rank) | self.draft.needs(shape).barred
        room = self._room(job, rank)
        found: Target | None = None
        for level in self._levels(shape, closest):
            for domain in self.draft.world.fleet.at(shape.model, level):
                target = self._soonest(job, rank, domain, barred, room, found)
                if target is not None and (found is None or target.done_s < found.done_s):
                    found = target
        return found

    def _levels(self, shape: Shape, closest: Locality | None) -> Sequence[Locality]:
        if closest is not None:
            return (closest,)
        spread_matters = shape.node_count > 1 and exposed_share(self.draft.world.policy, shape.kind) > 0
        if not spread_matters or shape.required is Locality.NODE:
            return (shape.required,)
        return LEVELS[: LEVELS.index(shape.required) + 1]

    def _power_ahead(self, job: JobView, rank: Rank, nodes: Iterable[int]) -> PowerAhead | None:
        """The watts that will be left for the job on these nodes; None where power cannot bind."""
        power = self.draft.open.power
        if power is None or not job.shape.draw_w:
            return None
        power = power.copy()
        for other in self.draft.open_to(job.id, rank):
            power.use(self.draft.locks[other], self.draft.draw_of(other), times=-1)
        for other in self.draft.before(job.id, rank):
            power.use(self.draft.unfilled(other), self.draft.draw_of(other))
        limits = {limit for index in nodes for limit, _ in power.grid.of_node[index]}
        return PowerAhead(
            power, [freed for touched, freed in self._frees() if not limits.isdisjoint(touched)]
        )

    def _frees(self) -> list[tuple[frozenset[int], Freed]]:
        """What every run draws, by when it is out, with the power limits that carry it."""
        grid = self.draft.world.fleet.power
        if self._known_frees[0] != len(self.draft.gone) and grid is not None:
            drawing = [run for run in self.draft.world.runs.values() if run.shape.draw_w]
            frees = []
            for run in drawing:
                touched = frozenset(limit for index in run.placement for limit, _ in grid.of_node[index])
                if touched:
                    frees.append((touched, (self._out(run), run.placement, run.shape.draw_w)))
            self._known_frees = (len(self.draft.gone), frees)
        return self._known_frees[1]

    def _room(self, job: JobView, rank: Rank) -> Placement:
        """node index → GPUs held for the job itself, or for gangs that it may take from."""
        room: Placement = {}
        for other in self.draft.open_to(job.id, rank):
            for index, gpus in self.draft.locks[other].items():
                room[index] = room.get(index, 0) + gpus
        return room

    def _barred(self, job_id: int, rank: Rank) -> set[int]:
        """Nodes that other gangs are gathering and that this one may not take."""
        barred: set[int] = set()
        for other in self.draft.closed_to(job_id, rank):
            barred.update(self.draft.reservations[other].target)
        return barred

    def _wanted_ahead(self, job_id: int, rank: Rank, target: Mapping[int, int]) -> Placement:
        """GPUs on the nodes of a target that gangs which it may not pass are still to get."""
        wanted: Placement = {}
        for other in self.draft.before(job_id, rank):
            for index, gpus in self.draft.unfilled(other).items():
                if index in target:
                    wanted[index] = wanted.get(index, 0) + gpus
        return wanted

    def _soonest(
        self,
        job: JobView,
        rank: Rank,
        domain: int,
        barred: Set[int],
        room: Placement,
        best: Target | None,
    ) -> Target | None:
        """The nodes of a domain that are free first; None if it has not enough, or `best` is as good."""
        needs, doubts = self.draft.needs(job.shape), self.draft.world.fleet.doubts
        placement: Placement = {}
        ready_s, by_size = self.now_s, []
        for count, gpus in job.shape.members:
            times = self._times(domain, gpus, barred, placement, room)
            if len(times) < count:
                return None
            times.sort(key=lambda e: (e[0], e[1] in needs.avoids, doubts[e[1]], e[1] not in needs.near, e[1]))
            by_size.append((count, gpus, times))
            for at, index in times[:count]:
                placement[index] = gpus
                ready_s = max(ready_s, at)
        target = self.target(job, placement, ready_s)
        if best is not None and target.done_s >= best.done_s:
            return None
        power = self._power_ahead(job, rank, self.draft.world.fleet.domain_nodes[domain])
        return target if power is None else self._powered(job, power, by_size)

    def _powered(
        self, job: JobView, power: PowerAhead, by_size: Sequence[tuple[int, int, list[tuple[float, int]]]]
    ) -> Target | None:
        """The same where each node must be allowed to draw as well."""
        placement: Placement = {}
        ready_s = self.now_s
        for count, gpus, times in by_size:
            left = [e for e in times if e[1] not in placement]
            found = power.soonest(left, count, gpus, job.shape.draw_w)
            if found is None:
                return None
            placement |= dict.fromkeys(found[0], gpus)
            ready_s = max(ready_s, found[1])
        return self.target(job, placement, ready_s)

    def _times(
        self, domain: int, gpus: int, barred: Set[int], taken: Placement, room: Placement
    ) -> list[tuple[float, int]]:
        times = []
        for index in self.draft.world.fleet.domain_nodes[domain]:
            if index not in barred and index not in taken:
                at = self._free_at(index, gpus, room)
                if at is not None:
                    times.append((at, index))
        return times

    def _free_at(self, index: int, gpus: int, room: Placement, job: JobView | None = None) -> float | None:
        """When this node is expected to have so many GPUs free; None = never.

        With a job, the runs that backfill its reservation count as out as soon as they can be.
        """
        node = self.draft.world.fleet.nodes[index]
        if not node.usable or node.gpus < gpus:
            return None
        free = self.draft.open.free[index] + room.get(index, 0)
        if free >= gpus:
            return self.now_s
        for at, freed in self._ends_on(index, job):
            free += freed
            if free >= gpus:
                return at
        return None

    def _ends_on(self, index: int, job: JobView | None) -> list[tuple[float, int]]:
        """(time, GPUs freed) of the runs on a node and of the gangs just started there, soonest first."""
        if self._known_ends[0] != len(self.draft.gone):
            self._known_ends = (len(self.draft.gone), {})
        ends = self._known_ends[1].get(index)
        if ends is None:
            ends = sorted((self._out(run), run.placement[index]) for run in self.draft.runs_on(index))
            self._known_ends[1][index] = ends
        fresh = self.draft.fresh_on.get(index, [])
        backfill = job is not None and any(self.draft.returns_to(r, job) for r in self.draft.runs_on(index))
        if job is not None and backfill:
            runs = self.draft.runs_on(index)
            ends = [(self._out(r, self.draft.returns_to(r, job)), r.placement[index]) for r in runs]
        return sorted([*ends, *fresh]) if fresh or backfill else ends

    def _out(self, run: RunView, at_once: bool = False) -> float:
        """When the run frees its GPUs; one that this plan evicts is out after its grace window."""
        end = projected_end(run, self.now_s)
        if at_once or run.id in self.draft.gone:
            return min(end, self.now_s + run.shape.out_s)
        return end
