"""The checklist of a held job: every constraint in order of precedence, each with its own arithmetic.

Verdicts are independent of one another. They are made when the plan is done, so their numbers are those that
remained; a shape that would fit into what an unfinished search or a late change left over says just that.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace

from cluster.scheduler.draft import Draft, Rank
from cluster.scheduler.gathering import projected_end
from cluster.scheduler.policy import Queueing
from cluster.scheduler.preemption import Preemption
from cluster.scheduler.supply import Supply
from cluster.scheduler.verdict import Blocker, Verdict, binding
from cluster.scheduler.words import Constraint, Locality, Phase
from cluster.scheduler.world import JobView, ReservationView, RunView, Shape

MOST_BLOCKERS = 8
NOT_ASKED = Verdict(Constraint.NOT_EVALUATED, False, "this tick", unit="", note="not_asked")
"""What stands for all verdicts where nobody will read them."""


class Checklist:
    """Makes verdicts from a finished draft. With `full` off only a refused loan is told from the rest."""

    def __init__(
        self,
        draft: Draft,
        preemption: Preemption,
        unresolved: Set[Shape],
        heads: Mapping[str, JobView],
        full: bool,
    ) -> None:
        self.draft, self.preemption, self.full = draft, preemption, full
        self.unresolved, self.heads = unresolved, heads
        self.fleet, self.world = draft.world.fleet, draft.world
        self._no_locks: Supply | None = None
        self._whole: Supply | None = None
        self._holders: dict[str, tuple[Blocker, ...]] = {}
        self._room: dict[tuple[int, bool], Supply] = {}

    # the three kinds of held job

    def of_shape(self, job: JobView) -> tuple[Verdict, ...]:
        """For jobs that wait in the queue."""
        shape = job.shape
        claim = self.draft.books.claim(shape)
        rank = self.draft.rank(shape, claim)
        if not self.full:
            return (claim.refusal or NOT_ASKED,)
        head = self.heads.get(shape.model)
        if head is not None and head.id != job.id and self.world.policy.queueing is not Queueing.LOCKSTEP:
            return (self._behind(shape, head),)
        verdicts = self._standing(shape)
        verdicts += self._capacity(shape, rank, self._room_for(rank), job.id)
        return self._complete(shape, verdicts)

    def of_holder(self, reservation: ReservationView) -> tuple[Verdict, ...]:
        """For a job with a reservation of its own."""
        job, shape = reservation.job, reservation.job.shape
        if not self.full:
            return (NOT_ASKED,)
        rank = self.draft.rank_of[job.id]
        leaving = self._leaving(job.id, reservation.target)
        room = self._room_for(rank).copy()
        if job.id not in self.draft.open_to(-1, rank):
            room.give(self.draft.locks.get(job.id, {}))
        draining = self._draining(reservation, leaving)
        if draining is not None:
            for run in leaving:
                room.give(run.placement)
        verdicts = self._standing(shape)
        verdicts += self._capacity(shape, rank, room, job.id, reservation)
        if draining is not None:
            verdicts.append(draining)
        return self._complete(shape, verdicts)

    def of_set_aside(self, job: JobView) -> tuple[Verdict, ...]:
        """For a job that may not be tried now."""
        verdicts = [self._ever_fits(job.shape)]
        if job.admin_hold is not None:
            verdicts.append(
                Verdict(Constraint.ADMIN_HOLD, False, "this job", unit="", names=(job.admin_hold,))
            )
        if job.not_before_s is not None and job.not_before_s > self.world.now_s:
            verdicts.append(
                Verdict(
                    Constraint.START_TIME,
                    False,
                    "this job",
                    until_s=job.not_before_s,
                    unit="s",
                    note=job.not_before_why,
                )
            )
        return self._complete(job.shape, verdicts)

    def _complete(self, shape: Shape, verdicts: list[Verdict]) -> tuple[Verdict, ...]:
        """A hold never goes without a reason: what nothing blocks any more is tried at the next tick."""
        bound = binding(verdicts)
        if bound is None:
            late = Verdict(
                Constraint.NOT_EVALUATED, False, "this tick", unit="", note="freed_late", proof="search"
            )
            return (*verdicts, late)
        return tuple(verdicts)

    # what does not depend on what is free

    def _standing(self, shape: Shape) -> list[Verdict]:
        refusal = self.draft.books.claim(shape).refusal
        verdicts = [self._ever_fits(shape), self.draft.books.quota_verdict(shape)]
        if refusal is not None and refusal.constraint is Constraint.GUARANTEE:
            lenders = self.draft.books.lenders(shape.model, besides=shape.tenant)
            verdicts.append(replace(refusal, blockers=lenders))
        return verdicts

    def _ever_fits(self, shape: Shape) -> Verdict:
        """Could it run on the whole fleet, empty and in good order?"""
        whole = self._whole_fleet()
        ok = whole.fits(shape.members, shape.model, shape.required)
        installed = self.fleet.installed_gpus.get(shape.model, 0)
        if ok or shape.gpus > installed:
            return Verdict(
                Constraint.NEVER_FITS,
                ok,
                f"all {shape.model}",
                shape.gpus,
                0,
                installed,
                note="" if ok else "too_large",
            )
        domains = self.fleet.at(shape.model, shape.required)
        most = max((self._most_nodes(whole, shape, d) for d in domains), default=0)
        return Verdict(
            Constraint.NEVER_FITS,
            False,
            f"one {shape.required}",
            shape.node_count,
            0,
            most,
            unit=f"node with {shape.members[0][1]} GPUs",
            note="shape",
        )

    def _whole_fleet(self) -> Supply:
        if self._whole is None:
            self._whole = Supply(self.fleet, [n.gpus for n in self.fleet.nodes], unusable_too=True)
        return self._whole

    @staticmethod
    def _most_nodes(supply: Supply, shape: Shape, domain: int) -> int:
        return supply.nodes_with(shape.members[-1][1], domain)

    # what is free

    def _room_for(self, rank: Rank) -> Supply:
        """What a job of this rank without a reservation finds: free GPUs it may use now."""
        key = (rank.tier, rank.entitled)
        if key not in self._room:
            room = self.draft.open.copy()
            for other in self.draft.open_to(-1, rank):
                room.give(self.draft.locks[other])
            self._room[key] = room
        return self._room[key]

    def _capacity(
        self, shape: Shape, rank: Rank, room: Supply, job_id: int, own: ReservationView | None = None
    ) -> list[Verdict]:
        if room.fits(shape.members, shape.model, shape.required):
            return self._passing(shape, room)
        health = self._health(shape, room)
        held = self._held_by_others(shape, rank, job_id)
        gang, topology = self._gang(shape, rank, room, own), self._topology(shape, room)
        return [v for v in (health or self._healthy(shape), held, gang, topology) if v is not None]

    def _passing(self, shape: Shape, room: Supply) -> list[Verdict]:
        free = room.free_gpus(shape.model)
        gang = Verdict(Constraint.GANG_SIZE, True, f"free {shape.model}", shape.gpus, 0, free)
        return [self._healthy(shape), gang]

    def _healthy(self, shape: Shape) -> Verdict:
        usable = self.fleet.usable_gpus.get(shape.model, 0)
        return Verdict(Constraint.NODE_HEALTH, True, f"eligible {shape.model}", shape.gpus, 0, usable)

    def _health(self, shape: Shape, room: Supply) -> Verdict | None:
        """Fails when the nodes that take no work are all that is missing."""
        out = [i for i, n in enumerate(self.fleet.nodes) if n.model == shape.model and not n.usable]
        if not out:
            return None
        repaired = room.copy()
        for index in out:
            if not self.draft.holdings.on_node[index]:
                repaired.shift(index, self.fleet.nodes[index].gpus)
        if not repaired.fits(shape.members, shape.model, shape.required):
            return None
        names = tuple(
            f"{self.fleet.nodes[i].name} ({self.fleet.nodes[i].why_not})" for i in out[:MOST_BLOCKERS]
        )
        free_gpus = room.free_gpus(shape.model)
        lost = sum(self.fleet.nodes[i].gpus for i in out)
        return Verdict(
            Constraint.NODE_HEALTH,
            False,
            f"{len(out)} nodes of {shape.model} that take no work",
            shape.gpus,
            lost,
            free_gpus + lost,
            names=names,
        )

    def _held_by_others(self, shape: Shape, rank: Rank, job_id: int) -> Verdict | None:
        """Fails when the gang would fit if nothing were held for others."""
        others = [o for o in self.draft.locks if o != job_id and not rank.beats(self.draft.rank_of[o])]
        if not others:
            return None
        if self._no_locks is None:
            self._no_locks = self.draft.open.copy()
            for held in self.draft.locks.values():
                self._no_locks.give(held)
        if not self._no_locks.fits(shape.members, shape.model, shape.required):
            return None
        free = self._no_locks.free_gpus(shape.model)
        held_gpus = free - self._room_for(rank).free_gpus(shape.model)
        blockers = tuple(self._reservation(o) for o in others if sum(self.draft.locks[o].values()))
        until = [b.until_s for b in blockers if b.until_s is not None]
        return Verdict(
            Constraint.RESERVATION,
            False,
            f"free {shape.model}",
            shape.gpus,
            held_gpus,
            free,
            blockers=blockers[:MOST_BLOCKERS],
            until_s=max(until, default=None),
        )

    def _reservation(self, job_id: int) -> Blocker:
        reservation = self.draft.reservations[job_id]
        shape = self.draft.shape_of[job_id]
        held = sum(self.draft.locks[job_id].values())
        return Blocker("reservation", str(job_id), held, shape.tenant, shape.tier, reservation.ready_s)

    def _behind(self, shape: Shape, head: JobView) -> Verdict:
        """Plain queueing: an older job is blocked, and nothing may pass it."""
        free = self.draft.open.free_gpus(shape.model)
        blocker = Blocker("job", str(head.id), head.shape.gpus, head.shape.tenant, head.shape.tier)
        return Verdict(
            Constraint.RESERVATION,
            False,
            f"free {shape.model}",
            shape.gpus,
            free,
            free,
            note="head",
            blockers=(blocker,),
        )

    def _gang(self, shape: Shape, rank: Rank, room: Supply, own: ReservationView | None) -> Verdict:
        """Are there enough GPUs, on enough nodes with enough of them, anywhere?"""
        free = room.free_gpus(shape.model)
        whole = self.fleet.at(shape.model, Locality.CLUSTER)
        ok = bool(whole) and room.holds(shape.members, whole[0])
        until = own.ready_s if own is not None else None
        blockers = self._holders_of(shape.model) if not ok else ()
        reclaimable = self._reclaimable(shape, rank) if not ok else None
        proof = "search" if shape in self.unresolved else "proof"
        note = "gathering" if own is not None else ""
        if free >= shape.gpus and not ok:
            count, gpus = next(m for m in self._asked(shape) if room.nodes_with(m[1], whole[0]) < m[0])
            return Verdict(
                Constraint.GANG_SIZE,
                False,
                f"{shape.model} nodes with {gpus} GPUs free",
                count,
                0,
                room.nodes_with(gpus, whole[0]),
                unit="node",
                note=f"fragmented{'_' + note if note else ''}",
                blockers=blockers,
                until_s=until,
                reclaimable=reclaimable,
                names=(str(free),),
                proof=proof,
            )
        return Verdict(
            Constraint.GANG_SIZE,
            ok,
            f"free {shape.model}",
            shape.gpus,
            0,
            free,
            note=note,
            blockers=blockers,
            until_s=until,
            reclaimable=reclaimable,
            proof=proof,
        )

    @staticmethod
    def _asked(shape: Shape) -> Iterable[tuple[int, int]]:
        """(nodes with at least so many GPUs, GPUs) that the members need together."""
        asked = 0
        for count, gpus in shape.members:
            asked += count
            yield asked, gpus

    def _topology(self, shape: Shape, room: Supply) -> Verdict | None:
        """Fails when the gang would fit, but not close enough together."""
        if shape.required is Locality.CLUSTER:
            return None
        ok = room.fits(shape.members, shape.model, shape.required)
        fits_anywhere = room.fits(shape.members, shape.model, Locality.CLUSTER)
        domains = self.fleet.at(shape.model, shape.required)
        best = max(domains, key=lambda d: self._most_nodes(room, shape, d), default=None)
        return Verdict(
            Constraint.TOPOLOGY,
            ok or not fits_anywhere,
            f"{shape.required} {'(none)' if best is None else self.fleet.domain_name[best]}",
            shape.node_count,
            0,
            0 if best is None else self._most_nodes(room, shape, best),
            unit="node",
        )

    def _holders_of(self, model: str) -> tuple[Blocker, ...]:
        """The runs that hold most of a model's GPUs."""
        if model not in self._holders:
            runs = [r for r in self.world.runs.values() if r.shape.model == model]
            runs.sort(key=lambda r: (-r.shape.gpus, r.id))
            self._holders[model] = tuple(self._holder(run) for run in runs[:MOST_BLOCKERS])
        return self._holders[model]

    def _holder(self, run: RunView) -> Blocker:
        until = projected_end(run, self.world.now_s)
        return Blocker("run", str(run.job_id), run.shape.gpus, run.shape.tenant, run.shape.tier, until)

    def _reclaimable(self, shape: Shape, rank: Rank) -> int:
        """GPUs that a job of this shape may call back or preempt, whether or not that would be enough."""
        loans = self.preemption.loans
        return sum(
            run.shape.gpus
            for run in self.world.runs.values()
            if run.shape.model == shape.model
            and run.phase is not Phase.STOPPING
            and run.id not in self.draft.gone
            and run.shape.standing > 0
            and ((rank.entitled and loans.get(run.id)) or rank.tier < run.shape.tier.rank)
        )

    def _leaving(self, job_id: int, target: Mapping[int, int]) -> list[RunView]:
        """The runs on their way out of a target for this job."""
        return [
            run
            for run in self.world.runs.values()
            if not target.keys().isdisjoint(run.placement)
            and (
                (run.phase is Phase.STOPPING and run.stopping_for == job_id)
                or any(e.run_id == run.id and e.for_job == job_id for e in self.draft.evictions)
            )
        ]

    def _draining(self, reservation: ReservationView, leaving: Sequence[RunView]) -> Verdict | None:
        """Fails while preempted runs still hold what the job is to have."""
        if not leaving:
            return None
        now_s = self.world.now_s
        deadline = max(run.free_by_s or now_s + run.shape.out_s for run in leaving)
        blockers = tuple(
            Blocker(
                "run",
                str(r.job_id),
                r.shape.gpus,
                r.shape.tenant,
                r.shape.tier,
                r.free_by_s or now_s + r.shape.out_s,
            )
            for r in leaving
        )
        return Verdict(
            Constraint.DRAINING,
            False,
            f"target of job {reservation.job.id}",
            len(leaving),
            0,
            0,
            unit="run",
            blockers=blockers,
            until_s=deadline,
        )
