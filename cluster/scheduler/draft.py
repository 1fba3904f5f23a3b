"""A plan in the making: the supply that is left, the books as they would stand, and what has been decided so far."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cluster.scheduler.holdings import Holdings
from cluster.scheduler.lending import Books, Claim
from cluster.scheduler.plan import Eviction, Start
from cluster.scheduler.supply import Placement
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


class Draft:
    """All mutable state of one planning pass.

    `open` is what a job with no privileges finds free; GPUs held by reservations are locked out of it and
    stand in `locks`. Supply only shrinks while a plan grows: what did not fit a shape once will not fit later.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.holdings = world.holdings or Holdings(world.fleet, world.runs.values())
        self.open = self.holdings.supply.copy()
        self.books = Books(world.tenants, self.holdings.used, world.fleet.installed_gpus, world.policy)
        self.starts: list[Start] = []
        self.evictions: list[Eviction] = []
        self.gone: set[int] = set()
        """runs evicted by this plan"""
        self.reservations: dict[int, ReservationView] = {}
        self.rank_of: dict[int, Rank] = {}
        """rank of each job that holds a reservation"""
        self.shape_of: dict[int, Shape] = {}
        self.locks: dict[int, Placement] = {}
        """job id → free GPUs held for it"""
        self.version = 0
        """raised by everything that changes supply; what is cached under an older one is stale"""

    def rank(self, shape: Shape, claim: Claim) -> Rank:
        return Rank(shape.tier.rank, claim.entitled)

    def reserve(self, job: JobView, rank: Rank, reservation: ReservationView) -> None:
        """Let a reservation stand and lock the free GPUs of its target."""
        self.release(job.id)
        self.reservations[job.id] = reservation
        self.rank_of[job.id], self.shape_of[job.id] = rank, job.shape
        self._lock(job.id, reservation.target)

    def release(self, job_id: int) -> None:
        """Give up a reservation and unlock what it held."""
        self.open.give(self.locks.pop(job_id, {}))
        self.reservations.pop(job_id, None)
        self.version += 1

    def _lock(self, job_id: int, wanted: Mapping[int, int]) -> None:
        held = {i: min(gpus, self.open.free[i]) for i, gpus in wanted.items() if self.open.free[i]}
        self.open.take(held)
        self.locks[job_id] = held
        self.version += 1

    def open_to(self, job_id: int, rank: Rank) -> list[int]:
        """The reservations whose GPUs this job may use: its own, and those of lesser rank."""
        return [other for other in self.locks if other == job_id or rank.beats(self.rank_of[other])]

    def place(self, shape: Shape, unlocked: Iterable[int]) -> Placement | None:
        """Where the gang could go if these reservations stood aside. Leaves the draft as it was."""
        unlocked = list(unlocked)
        for job_id in unlocked:
            self.open.give(self.locks[job_id])
        placement = self.open.place(shape.members, shape.model, shape.required)
        for job_id in unlocked:
            self.open.take(self.locks[job_id])
        return placement

    def start(
        self, job: JobView, placement: Placement, claim: Claim, unlocked: list[int], backfill: bool
    ) -> None:
        """Start a gang here, on GPUs that may be held by the `unlocked` reservations."""
        used = [other for other in unlocked if not self.locks[other].keys().isdisjoint(placement)]
        wanted = {other: self.locks.pop(other) for other in used}
        for held in wanted.values():
            self.open.give(held)
        self.open.take(placement)
        for other, held in wanted.items():
            self._lock(other, held)
        self.books.use(job.shape)
        self.starts.append(Start(job.id, placement, claim.entitled, backfill and bool(set(used) - {job.id})))
        self.release(job.id)

    def evict(self, eviction: Eviction) -> None:
        self.evictions.append(eviction)
        self.gone.add(eviction.run_id)
        self.version += 1

    def runs_on(self, index: int) -> list[RunView]:
        return [self.world.runs[run_id] for run_id in self.holdings.on_node[index]]
