"""A plan in the making: the supply that is left, the books as they would stand, what has been decided."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from cluster.scheduler.holdings import Holdings
from cluster.scheduler.lending import Books, Claim
from cluster.scheduler.needs import Needs
from cluster.scheduler.plan import Eviction, Start
from cluster.scheduler.policy import Queueing
from cluster.scheduler.saving import Savings
from cluster.scheduler.supply import Placement, Supply
from cluster.scheduler.verdict import Verdict
from cluster.scheduler.words import Phase
from cluster.scheduler.world import JobView, ReservationView, RunView, Shape, World


@dataclass(frozen=True, slots=True)
class Rank:
    """What decides who may use GPUs that are held for somebody else."""

    tier: int
    entitled: bool

    def beats(self, other: "Rank") -> bool:
        """An entitled job takes from a loan; between equals in that, a higher tier takes from a lower."""
        if self.entitled != other.entitled:
            return self.entitled
        return self.tier < other.tier


@dataclass(frozen=True, slots=True)
class Promise:
    """What a waiting gang was granted, or refused, before the books were charged with it."""

    claim: Claim
    line: Verdict
    """the quota line of its checklist"""


class Draft:
    """All mutable state of one planning pass.

    `open` is what a job with no privileges finds free; GPUs held by reservations are locked out of it and
    stand in `locks`. Supply only shrinks while a plan grows: what did not fit once will not fit later.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.holdings = world.holdings or Holdings(world.fleet, world.runs.values())
        self.open = self.holdings.supply.copy()
        self.books = Books(world.tenants, self.holdings.used, world.fleet.installed_gpus, world.policy)
        self.starts: list[Start] = []
        self.fresh_on: dict[int, list[tuple[float, int]]] = {}
        """node index → (expected end, GPUs) of what this plan starts there"""
        self.evictions: list[Eviction] = []
        self.gone: set[int] = set()
        """runs evicted by this plan"""
        self._leaving: tuple[dict[int, int], dict[int, float]] | None = None
        self.reservations: dict[int, ReservationView] = {}
        self.rank_of: dict[int, Rank] = {}
        """rank of each job that holds a reservation"""
        self.shape_of: dict[int, Shape] = {}
        self.locks: dict[int, Placement] = {}
        """job id → free GPUs held for it"""
        self._needs: dict[Shape, Needs] = {}
        self._no_room: set[tuple[object, tuple[int, ...]]] = set()
        """(what is asked of nodes, reservations that stood aside) for which there was no place: supply only
        shrinks, so there will be none until a reservation gives something back"""
        self._no_room_at_all: set[object] = set()
        """the same with all reservations aside"""
        self._nodes_outside: dict[frozenset[int], frozenset[int]] = {}
        self._staged_gb: dict[int, dict[str, float]] = {}
        """node index → datasets that this plan will stage there, and their size"""
        self.promises: dict[int, Promise] = {}
        """by job id: gangs that wait, charged to the books ahead of those behind them"""
        self.savings = Savings(self)
        self.version = 0
        """raised by everything that changes supply; what is cached under an older one is stale"""

    def rank(self, shape: Shape, claim: Claim) -> Rank:
        """Under plain queueing all are of one rank: only age counts."""
        if self.world.policy.queueing is not Queueing.LOCKSTEP:
            return Rank(0, True)
        return Rank(shape.tier.rank, claim.entitled)

    @cached_property
    def runs_of(self) -> dict[tuple[str, str], list[RunView]]:
        """(tenant, model) → its runs in the order in which they are its own: the firmest, then the oldest."""
        found: dict[tuple[str, str], list[RunView]] = {}
        for run in self.world.runs.values():
            found.setdefault((run.shape.tenant, run.shape.model), []).append(run)
        for runs in found.values():
            runs.sort(key=lambda r: (r.shape.standing, r.queued_s, r.started_s, r.id))
        return found

    @cached_property
    def whole_fleet(self) -> Supply:
        """All nodes that take work, as if nothing ran."""
        return Supply(self.world.fleet, [node.gpus for node in self.world.fleet.nodes])

    # rights

    def claim(self, job: JobView, books: Books | None = None) -> Claim:
        """By what right the job would start now. One that waits ahead keeps what it was granted."""
        books = books or self.books
        promise = self.promises.get(job.id)
        if promise is not None:
            return promise.claim
        claim = books.claim(job.shape)
        if claim.refusal is not None and self.savings.jobs:
            claim = self.savings.seen_by(job, claim)
        if job.id in self.world.reservations and not claim.entitled and claim.refusal is None:
            claim = self._by_age(job, claim)
        return claim

    def _by_age(self, job: JobView, loan: Claim) -> Claim:
        """A gang that gathers is its tenant's own before what started later: that becomes the loan."""
        before = 0
        for run in self.runs_of.get((job.shape.tenant, job.shape.model), ()):
            firmer = run.shape.standing < job.shape.standing
            as_firm = run.shape.standing == job.shape.standing
            if firmer or (as_firm and (run.shape.standing == 0 or run.queued_s <= job.queued_s)):
                before += run.shape.gpus
        within = before + job.shape.gpus <= self.books.entitlement(job.shape.tenant, job.shape.model)
        return Claim(entitled=True, used=before) if within else loan

    def quota_line(self, job: JobView) -> Verdict:
        """The quota line of its checklist, with the numbers that decided."""
        promise = self.promises.get(job.id)
        if promise is not None:
            return promise.line
        books = self.savings.books_for(job.shape)
        return books.quota_verdict(job.shape, self.claim(job))

    def promise(self, job: JobView, claim: Claim, *, saving: bool = False) -> None:
        """Charge the books with a gang that waits, so that those behind do not use up what it may have."""
        self.promises[job.id] = Promise(claim, self.books.quota_verdict(job.shape, claim))
        self.books.charge(job.shape)
        if not saving:
            self.savings.charge(job.shape)

    # reservations

    def reserve(self, job: JobView, rank: Rank, reservation: ReservationView) -> None:
        """Let a reservation stand and lock the free GPUs of its target, those of lesser gangs included."""
        self._unlock(job.id)
        self._no_room.clear()
        lesser = [
            o for o in self.open_to(-1, rank) if not self.locks[o].keys().isdisjoint(reservation.target)
        ]
        wanted = {other: self.locks.pop(other) for other in lesser}
        self.unlock_in(self.open, wanted)
        self.reservations[job.id] = reservation
        self.rank_of[job.id], self.shape_of[job.id] = rank, job.shape
        self._lock(job.id, reservation.target)
        for other, held in wanted.items():
            self._lock(other, held)

    def release(self, job_id: int) -> None:
        """Give up a reservation and unlock what it held."""
        self._unlock(job_id)
        self.reservations.pop(job_id, None)

    def _unlock(self, job_id: int) -> None:
        if job_id in self.locks:
            self.open.give(self.locks.pop(job_id), self.draw_of(job_id))
            self._forget_refusals()
        self.version += 1

    def _forget_refusals(self) -> None:
        self._no_room.clear()
        self._no_room_at_all.clear()

    def _lock(self, job_id: int, wanted: Mapping[int, int]) -> None:
        free = self.open.free
        held = {i: min(gpus, free[i]) for i, gpus in wanted.items() if free[i] > 0}
        self.open.take(held, self.draw_of(job_id))
        self.locks[job_id] = held
        self.version += 1

    def draw_of(self, job_id: int) -> float:
        """W that each GPU held for a gang will add: its power is held with it."""
        return self.shape_of[job_id].draw_w

    def unlock_in(self, room: Supply, held: Iterable[int] | Mapping[int, Placement]) -> None:
        """Give a supply what is held for these jobs, their power included."""
        for job_id in held:
            placement = held[job_id] if isinstance(held, Mapping) else self.locks[job_id]
            room.give(placement, self.draw_of(job_id))

    def open_to(self, job_id: int, rank: Rank) -> list[int]:
        """The reservations whose GPUs this job may use: its own, and those of lesser rank."""
        return [other for other in self.locks if other == job_id or rank.beats(self.rank_of[other])]

    def closed_to(self, job_id: int, rank: Rank) -> list[int]:
        """The reservations whose GPUs this job may not use."""
        return [o for o in self.reservations if o != job_id and not rank.beats(self.rank_of[o])]

    def before(self, job_id: int, rank: Rank) -> list[int]:
        """The reservations that get what comes free before this job: of higher rank, or of none and older."""
        found, is_younger = [], False
        for other in self.reservations:
            if other == job_id:
                is_younger = True
            elif self.rank_of[other].beats(rank) or not (is_younger or rank.beats(self.rank_of[other])):
                found.append(other)
        return found

    def unfilled(self, job_id: int) -> Placement:
        """node index → GPUs of its target that a gathering gang does not hold yet."""
        held = self.locks[job_id]
        target = self.reservations[job_id].target
        return {i: gpus - held.get(i, 0) for i, gpus in target.items() if gpus > held.get(i, 0)}

    def returns_to(self, run: RunView, job: JobView) -> bool:
        """May this run, which backfilled, be sent away because the job is to have the nodes it gathered?"""
        own = self.reservations.get(job.id)
        return (
            own is not None
            and run.is_backfill
            and run.shape.standing > 0
            and run.phase is not Phase.STOPPING
            and run.started_s >= own.created_s
            and job.shape.tier.rank <= run.shape.tier.rank
            and not own.target.keys().isdisjoint(run.placement)
        )

    def leaving_for(self, job_id: int, rank: Rank) -> Placement:
        """GPUs on their way out that a job may count on: gangs that it may not pass get theirs first."""
        leaving = dict(self.leaving)
        for other in self.before(job_id, rank):
            for index, gpus in self.unfilled(other).items():
                if index in leaving:
                    leaving[index] = max(0, leaving[index] - gpus)
        return leaving

    @property
    def leaving(self) -> Mapping[int, int]:
        """node index → GPUs of runs told to stop, in this plan too; without nodes out of service."""
        return self._on_its_way_out()[0]

    @property
    def leaving_draw(self) -> Mapping[int, float]:
        """node index → W that each of those GPUs draws on average"""
        return self._on_its_way_out()[1]

    def _on_its_way_out(self) -> tuple[dict[int, int], dict[int, float]]:
        if self._leaving is None:
            leaving: dict[int, int] = {}
            watts: dict[int, float] = {}
            for run in self.world.runs.values():
                if run.phase is Phase.STOPPING or run.id in self.gone:
                    for index, gpus in run.placement.items():
                        if self.world.fleet.nodes[index].usable:
                            leaving[index] = leaving.get(index, 0) + gpus
                            watts[index] = watts.get(index, 0.0) + gpus * run.shape.draw_w
            self._leaving = leaving, {i: w / leaving[i] for i, w in watts.items() if w}
        return self._leaving

    def needs(self, shape: Shape) -> Needs:
        """What the shape asks of nodes besides free GPUs, what this plan will stage there considered."""
        known = self._needs.get(shape)
        if known is None:
            known = self._needs[shape] = self._work_out_needs(shape)
        return known

    def _work_out_needs(self, shape: Shape) -> Needs:
        plain = self.world.needs(shape)
        dataset = self.world.data.datasets.get(shape.data)
        if not self._staged_gb or dataset is None or dataset.size_gb is None:
            return plain
        room, full = self.world.data.room_gb, set(plain.barred)
        for index, staged in self._staged_gb.items():
            taken = sum(gb for key, gb in staged.items() if key != shape.data)
            if index in room and index not in dataset.holders and room[index] - taken < dataset.size_gb:
                full.add(index)
        return replace(plain, barred=frozenset(full))

    def _stage(self, shape: Shape, placement: Placement) -> None:
        """Count the room that the gang's data takes where it is not yet."""
        dataset = self.world.data.datasets.get(shape.data)
        if dataset is None or dataset.size_gb is None:
            return
        for index in placement:
            if index not in dataset.holders:
                self._staged_gb.setdefault(index, {})[shape.data] = dataset.size_gb
        self._needs.clear()

    def place(
        self, shape: Shape, unlocked: Iterable[int], blocks: frozenset[int] | None = None
    ) -> Placement | None:
        """Where the gang could go if these reservations stood aside. Leaves the draft as it was.

        `blocks`: only there.
        """
        unlocked = list(unlocked)
        key = (shape.members, shape.model, shape.required, shape.draw_w, shape.data, shape.avoids, blocks)
        if (key, tuple(unlocked)) in self._no_room or key in self._no_room_at_all:
            return None
        self.unlock_in(self.open, unlocked)
        needs = self.needs(shape)
        if blocks is not None:
            needs = replace(needs, barred=needs.barred | self._outside(blocks))
        placement = self.open.place(shape.members, shape.model, shape.required, needs=needs)
        for job_id in unlocked:
            self.open.take(self.locks[job_id], self.draw_of(job_id))
        if placement is None:
            self._no_room.add((key, tuple(unlocked)))
            if len(unlocked) == len(self.locks):
                self._no_room_at_all.add(key)
        return placement

    def _outside(self, blocks: frozenset[int]) -> frozenset[int]:
        """The nodes that are in none of these blocks."""
        if blocks not in self._nodes_outside:
            within = self.world.fleet.within
            self._nodes_outside[blocks] = frozenset(i for i, at in enumerate(within) if at[0] not in blocks)
        return self._nodes_outside[blocks]

    def start(
        self,
        job: JobView,
        placement: Placement,
        claim: Claim,
        unlocked: Sequence[int],
        behind: Sequence[int] = (),
    ) -> None:
        """Start a gang here, on GPUs that may be held by the `unlocked` reservations.

        It is backfill if it uses what is held for one of those `behind` which it stands.
        """
        used = [other for other in unlocked if not self.locks[other].keys().isdisjoint(placement)]
        wanted = {other: self.locks.pop(other) for other in used}
        self.unlock_in(self.open, wanted)
        self.open.take(placement, job.shape.draw_w)
        self._stage(job.shape, placement)
        for other, held in wanted.items():
            self._lock(other, held)
        self.books.use(job.shape)
        self.savings.use(job.shape)
        for index, gpus in placement.items():
            self.fresh_on.setdefault(index, []).append((self.world.now_s + job.duration_s, gpus))
        self.starts.append(Start(job.id, placement, claim.entitled, not set(used).isdisjoint(behind)))
        self.release(job.id)

    def evict(self, eviction: Eviction) -> None:
        self.evictions.append(eviction)
        self.gone.add(eviction.run_id)
        self._leaving = None
        self.version += 1

    def runs_on(self, index: int) -> list[RunView]:
        return [self.world.runs[run_id] for run_id in self.holdings.on_node[index]]
