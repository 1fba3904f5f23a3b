"""The planner: a world in, a plan out. Greedy, in order of tier, reservation, entitlement and age.

Jobs of one shape stand in one queue. When its head does not fit, nothing of that shape does, because supply
only shrinks while a plan grows: a pass costs one try for each gang that starts or is secured and one for each
shape, however long the queue.
"""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cluster.scheduler.checklist import Checklist
from cluster.scheduler.draft import Draft, Rank
from cluster.scheduler.gathering import Gathering, Target
from cluster.scheduler.lending import Claim
from cluster.scheduler.patience import Patience
from cluster.scheduler.plan import Hold, Plan
from cluster.scheduler.policy import Queueing
from cluster.scheduler.preemption import Preemption, SearchSpent, Victim
from cluster.scheduler.supply import Placement
from cluster.scheduler.world import JobView, Shape, World

BACKFILL_LOOK = 200
"""How many jobs of one shape are looked through for one that is done in time."""

Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a solver proposes for a job that it would start."""

    turn: int
    """its place among the entitled of its tier; jobs without a proposal come after"""
    blocks: frozenset[int] | None
    """where to look first; None = anywhere"""


def plan(world: World, explain: bool = True) -> Plan:
    """Decide for every pending job. Pure: the same world gives the same plan.

    Without `explain` a hold says only whether a loan was refused: a replay reads no more, verdicts cost time.
    """
    return Pass(world).run(explain)


class Pass:
    """One planning pass. What was decided can be frozen with and without explanations."""

    def __init__(
        self,
        world: World,
        proposals: Mapping[int, Proposal] | None = None,
        give_way: frozenset[int] = frozenset(),
    ) -> None:
        """`proposals` by job id and the runs that should `give_way` are a solver's, to be tried first."""
        self.world, self.policy = world, world.policy
        self.proposals = proposals or {}
        self.give_way = give_way
        self.draft = Draft(world)
        self.gathering = Gathering(self.draft)
        self.preemption = Preemption(self.draft)
        self.patience = Patience(self.draft, self.gathering)
        self.secured: set[int] = set()
        """gangs whose set is whole when the runs that were told to stop have left"""
        self.unresolved: set[Shape] = set()
        """shapes whose search for victims was cut short"""
        self.heads: dict[str, JobView] = {}
        """under plain queueing: the first blocked job of each GPU model"""
        self.queues = {shape: self._unreserved(queue) for shape, queue in world.queues.items()}
        self.looks: dict[Shape, int] = {}
        """how many more jobs of a shape are looked at although one of it was left waiting"""

    def run(self, explain: bool = True) -> Plan:
        self._keep_reservations()
        heap = list(self._entries())
        heapq.heapify(heap)
        while heap:
            key, _, job = heap[0]
            fresh = self._key(job)
            if fresh != key:
                heapq.heapreplace(heap, (fresh, job.id, job))
                continue
            heapq.heappop(heap)
            reserved = job.id in self.draft.reservations
            if (self._try(job) or job.id in self.secured or self._looks_on(job)) and not reserved:
                self._push_next(heap, job.shape)
        return self.freeze(explain)

    def _looks_on(self, job: JobView) -> bool:
        """Where a job's duration counts, which its shape does not tell: look at some more of the shape."""
        refusal = self.draft.claim(job).refusal
        if self.policy.queueing is not Queueing.EASY and (refusal is None or refusal.note != "saving"):
            return False
        self.looks[job.shape] = self.looks.get(job.shape, BACKFILL_LOOK) - 1
        return self.looks[job.shape] >= 0

    # the order

    def _unreserved(self, queue: Sequence[JobView]) -> Iterator[JobView]:
        held = self.world.reservations
        return (job for job in queue if job.id not in held) if held else iter(queue)

    def _entries(self) -> Iterator[tuple[Key, int, JobView]]:
        for reservation in self.world.reservations.values():
            yield self._key(reservation.job), reservation.job.id, reservation.job
        for queue in self.queues.values():
            job = next(queue, None)
            if job is not None:
                yield self._key(job), job.id, job

    def _push_next(self, heap: list[tuple[Key, int, JobView]], shape: Shape) -> None:
        job = next(self.queues[shape], None)
        if job is not None:
            heapq.heappush(heap, (self._key(job), job.id, job))

    def _key(self, job: JobView) -> Key:
        if self.policy.queueing is not Queueing.LOCKSTEP:
            return (job.queued_s, job.id)
        claim = self.draft.claim(job)
        reserved = job.id in self.draft.reservations
        # A refused gang starts nothing, but may save quota: the solver's choice must not pass it.
        proposal = self.proposals.get(job.id)
        turn = len(self.proposals) if proposal is None else proposal.turn
        turn = turn if claim.refusal is None else -1
        return (
            job.shape.tier.rank,
            not reserved,
            not claim.own_turn,
            turn,
            claim.share,
            job.queued_s,
            job.id,
        )

    # reservations that stand

    def _keep_reservations(self) -> None:
        """Lock what is being gathered, the strongest first, before anybody is served."""
        if not self.world.reservations:
            return
        standing = []
        books = self.draft.books.copy()
        for reservation in sorted(self.world.reservations.values(), key=lambda r: self._key(r.job)):
            claim = self.draft.claim(reservation.job, books)
            if claim.refusal is None:
                books.charge(reservation.job.shape)
                standing.append((self.draft.rank(reservation.job.shape, claim), reservation))
        standing.sort(key=lambda e: (not e[0].entitled, e[0].tier, e[1].created_s, e[1].job.id))
        for rank, reservation in standing:
            self.draft.reserve(reservation.job, rank, reservation)

    # one job

    def _try(self, job: JobView) -> bool:
        """Start the job, or do what brings its start nearer. True if it starts."""
        claim = self.draft.claim(job)
        if claim.refusal is not None:
            self.draft.release(job.id)
            self.draft.savings.begin(job, claim)
            return False
        head = self.heads.get(job.shape.model)
        if head is not None and self.policy.queueing is Queueing.FIFO:
            return False
        rank = self.draft.rank(job.shape, claim)
        if self._start(job, rank, claim):
            return True
        compact = self.patience.target_of(job)
        if compact is not None:
            self._wait_for(job, rank, compact)
            self.draft.promise(job, claim)
            return False
        if self._backfill(job, rank, claim):
            return True
        self.heads.setdefault(job.shape.model, job)
        if self.policy.queueing is not Queueing.FIFO:
            self._bring_nearer(job, rank)
        if job.id in self.draft.reservations:
            self.draft.promise(job, claim)
        return False

    def _start(self, job: JobView, rank: Rank, claim: Claim) -> bool:
        own = [job.id] if job.id in self.draft.locks else []
        every = self.draft.open_to(job.id, rank)
        # What a lesser gang has gathered is touched only when there is no other room: it would never end.
        for unlocked in (own, every) if len(every) > len(own) else (own,):
            placement = self._proposed_place(job, unlocked) or self.draft.place(job.shape, unlocked)
            if placement is not None:
                if self.patience.waits(job, rank, placement, may_begin=self._has_place(job, rank)):
                    return False
                self.draft.start(job, placement, claim, unlocked)
                return True
        return False

    def _proposed_place(self, job: JobView, unlocked: Sequence[int]) -> Placement | None:
        proposal = self.proposals.get(job.id)
        if proposal is None or proposal.blocks is None:
            return None
        return self.draft.place(job.shape, unlocked, proposal.blocks)

    def _wait_for(self, job: JobView, rank: Rank, compact: Target) -> None:
        """It could start now, but would be done sooner on a set that is closer together: gather that."""
        self.gathering.reserve(job, rank, compact, self.draft.reservations.get(job.id))
        self._evict(job, self.preemption.due(job))

    def _backfill(self, job: JobView, rank: Rank, claim: Claim) -> bool:
        """Start the job, or a shorter one of its shape, on GPUs held for others if it is out in time."""
        easy = self.policy.queueing is Queueing.EASY
        if not self.draft.locks or not (job.shape.standing > 0 or easy):
            return False
        own = self.draft.open_to(job.id, rank)
        others = [other for other in self.draft.locks if other not in own]
        if not others or self.draft.place(job.shape, self.draft.locks) is None:
            return False
        slack = {other: self._slack_s(other) for other in others}
        needs_s = (
            job.duration_s if easy else min(job.shape.out_s + self.policy.least_backfill_s, job.duration_s)
        )
        in_time = own + [other for other in others if needs_s <= slack[other]]
        placement = self.draft.place(job.shape, in_time)
        if placement is not None:
            self.draft.start(job, placement, claim, in_time, behind=() if easy else others)
        return placement is not None

    def _slack_s(self, job_id: int) -> float:
        ready_s = self.draft.reservations[job_id].ready_s
        return 0.0 if ready_s is None else ready_s - self.world.now_s

    def _bring_nearer(self, job: JobView, rank: Rank) -> None:
        """Send runs away for the job if that lets it start; else let it gather, if it has waited long."""
        if self._is_secured(job, rank):
            self._gather_on(job, rank)
            self.secured.add(job.id)
            return
        try:
            if self._may_preempt and self._preempt(job, rank):
                return
        except SearchSpent:
            self.unresolved.add(job.shape)
        if job.id in self.draft.reservations:
            self._gather_on(job, rank)
        elif self._may_reserve(job, rank):
            self.gathering.begin(job, rank)

    @property
    def _may_preempt(self) -> bool:
        return self.policy.preemption and self.policy.queueing is Queueing.LOCKSTEP

    def _gather_on(self, job: JobView, rank: Rank) -> None:
        """Bring its reservation up to date, and tell what backfills it when it must go."""
        self.gathering.refresh(job, rank)
        if job.id in self.draft.reservations:
            self._evict(job, self.preemption.due(job))

    def _is_secured(self, job: JobView, rank: Rank) -> bool:
        """Is all that its target lacks on its way out, or backfill that goes when the rest is there?"""
        if job.id not in self.draft.reservations or not self.draft.unfilled(job.id):
            return False
        coming = self.draft.leaving_for(job.id, rank)
        for index in self.draft.reservations[job.id].target:
            for run in self.draft.runs_on(index):
                if run.id not in self.draft.gone and self.draft.returns_to(run, job):
                    coming[index] = coming.get(index, 0) + run.placement[index]
        nodes = self.world.fleet.nodes
        if not all(nodes[index].usable for index in self.draft.reservations[job.id].target):
            return False
        return all(coming.get(index, 0) >= gpus for index, gpus in self.draft.unfilled(job.id).items())

    def _preempt(self, job: JobView, rank: Rank) -> bool:
        found, proposed = None, job.id in self.proposals
        if self.give_way and proposed:
            found = self.preemption.search_among(self.give_way, job, rank)
        found = found or self.preemption.search(job, rank, proposed)
        if found is None:
            return False
        victims, placement = found
        self._evict(job, victims)
        self.gathering.await_victims(job, rank, placement)
        self.secured.add(job.id)
        return True

    def _evict(self, job: JobView, victims: Sequence[Victim]) -> None:
        for eviction in self.preemption.evictions(job, victims):
            self.draft.evict(eviction)

    def _may_reserve(self, job: JobView, rank: Rank) -> bool:
        if self.policy.queueing is Queueing.EASY:
            return job is self.heads[job.shape.model]
        return self.world.now_s - job.queued_s >= self.policy.reserve_after_s and self._has_place(job, rank)

    def _has_place(self, job: JobView, rank: Rank) -> bool:
        """May it gather, beside those that do?"""
        if job.id in self.draft.reservations:
            return True
        alike = [
            other
            for other in self.draft.reservations
            if self.draft.shape_of[other].model == job.shape.model
            and not rank.beats(self.draft.rank_of[other])
        ]
        return len(alike) < self.policy.reservations_per_model

    # the result

    def freeze(self, explain: bool) -> Plan:
        """What was decided, with every constraint of every held job spelt out if asked for."""
        draft = self.draft
        checklist = Checklist(
            draft, self.preemption, self.patience.choices, self.unresolved, self.heads, full=explain
        )
        started = {start.job_id for start in draft.starts}
        holds, own_holds = {}, {}
        for shape, queue in self.world.queues.items():
            first = next(
                (job for job in queue if job.id not in started and job.id not in draft.promises), None
            )
            if first is not None:
                holds[shape] = Hold(shape, checklist.of_shape(first))
        for reservation in draft.reservations.values():
            own_holds[reservation.job.id] = Hold(reservation.job.shape, checklist.of_holder(reservation))
        for job in draft.savings.jobs:
            own_holds[job.id] = Hold(job.shape, checklist.of_shape(job))
        for job in self.world.set_aside:
            own_holds[job.id] = Hold(job.shape, checklist.of_set_aside(job))
        return Plan(
            tuple(draft.starts),
            holds,
            own_holds,
            tuple(draft.evictions),
            dict(draft.reservations),
            secured=frozenset(self.secured & draft.reservations.keys()),
            choices=self.patience.choices,
        )
