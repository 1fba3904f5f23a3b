"""The checklist of a held job: every constraint in order of precedence, each with its own arithmetic.

Verdicts are independent of one another. They are made when the plan is done, so their numbers are those that
remained; a shape that would fit into what an unfinished search or a late change left over says just that.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from functools import cached_property
from typing import Any

from cluster.scheduler.draft import Draft, Rank
from cluster.scheduler.ends import projected_end
from cluster.scheduler.needs_verdicts import NeedsVerdicts, compact
from cluster.scheduler.policy import Queueing
from cluster.scheduler.preemption import Preemption
from cluster.scheduler.spread import Choice
from cluster.scheduler.supply import Shortfall, Supply
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
        choices: Mapping[int, Choice],
        unresolved: Set[Shape],
        heads: Mapping[str, JobView],
        full: bool,
    ) -> None:
        self.draft, self.preemption, self.full = draft, preemption, full
        self.unresolved, self.heads, self.choices = unresolved, heads, choices
        self.fleet, self.world = draft.world.fleet, draft.world
        self.needs = NeedsVerdicts(draft)
        self._no_locks: Supply | None = None
        self._whole: Supply | None = None
        self._holders: dict[str, tuple[Blocker, ...]] = {}
        self._room: dict[Rank, Supply] = {}
        self._rooms_repaired: dict[Rank, Supply] = {}
        self._ahead: dict[Rank, tuple[tuple[Blocker, ...], float | None]] = {}

    # the three kinds of held job

    def of_shape(self, job: JobView) -> tuple[Verdict, ...]:
        """For jobs that wait in the queue."""
        shape = job.shape
        claim = self.draft.claim(job)
        rank = self.draft.rank(shape, claim)
        if not self.full:
            return (claim.refusal or NOT_ASKED,)
        head = self.heads.get(shape.model)
        if head is not None and head.id != job.id and self.world.policy.queueing is not Queueing.LOCKSTEP:
            return (self._behind(shape, head),)
        verdicts = self._standing(job)
        verdicts += self._capacity(job, rank, self._room_for(rank))
        return self._complete(shape, verdicts)

    def of_holder(self, reservation: ReservationView) -> tuple[Verdict, ...]:
        """For a job with a reservation of its own."""
        job, shape = reservation.job, reservation.job.shape
        if not self.full:
            return (NOT_ASKED,)
        rank = self.draft.rank_of[job.id]
        room = self._room_for(rank).copy()
        if job.id not in self.draft.open_to(-1, rank):
            self.draft.unlock_in(room, [job.id] if job.id in self.draft.locks else [])
        draining = self._draining(job, rank)
        if draining is not None:
            room.give(self.draft.leaving_for(job.id, rank), self.draft.leaving_draw)
        verdicts = self._standing(job)
        choice = self.choices.get(job.id)
        if choice is not None and choice.waits:
            return (*verdicts, self._healthy(shape), compact(choice))
        verdicts += self._capacity(job, rank, room, reservation)
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

    def _standing(self, job: JobView) -> list[Verdict]:
        refusal = self.draft.claim(job).refusal
        verdicts = [self._ever_fits(job.shape), self.draft.quota_line(job)]
        if refusal is not None and refusal.constraint is Constraint.GUARANTEE:
            lenders = self.draft.books.lenders(job.shape.model, besides=job.shape.tenant)
            verdicts.append(replace(refusal, blockers=lenders))
        elif refusal is not None and refusal.constraint is Constraint.RESERVATION:
            verdicts.append(refusal)
        if job in self.draft.savings.jobs:
            until_s = self.draft.savings.expected_s(job)
            verdicts = [v if v.ok else replace(v, until_s=until_s) for v in verdicts]
        return verdicts

    def _ever_fits(self, shape: Shape) -> Verdict:
        """Could it run on the whole fleet, empty and in good order?"""
        whole = self._whole_fleet()
        for level, note in ((Locality.CLUSTER, "too_large"), (shape.required, "shape")):
            short = self._shortfall(whole, shape, level)
            if short is not None:
                return self._counted(Constraint.NEVER_FITS, short, shape, level, note=note)
        beyond_power = self.needs.never(whole, shape)
        if beyond_power is not None:
            return beyond_power
        installed = self.fleet.installed_gpus.get(shape.model, 0)
        return Verdict(Constraint.NEVER_FITS, True, f"all {shape.model}", shape.gpus, 0, installed)

    def _shortfall(
        self, room: Supply, shape: Shape, level: Locality, hopeful: Supply | None = None
    ) -> Shortfall | None:
        """What the gang lacks within one domain of a level; only in those where `hopeful` would hold it."""
        one_node = level is Locality.NODE
        domains: Sequence[int] = self.fleet.at(shape.model, level)
        if hopeful is not None:
            domains = [d for d in domains if hopeful.shortfall(shape.members, (d,), one_node) is None]
        return room.shortfall(shape.members, domains, one_node)

    def _counted(
        self, constraint: Constraint, short: Shortfall, shape: Shape, level: Locality, **more: Any
    ) -> Verdict:
        """A failing verdict with the arithmetic of a shortfall; `taken` of the limit are out of its reach."""
        taken = more.pop("taken", 0)
        what = (
            f"{shape.model} nodes with {short.node_gpus} GPUs" if short.node_gpus else f"{shape.model} GPUs"
        )
        where = ""
        if level is not Locality.CLUSTER:
            name = self.fleet.domain_name[short.domain] if short.domain >= 0 else "none there is"
            where = " on one node" if level is Locality.NODE else f" in {level} {name}"
        return Verdict(
            constraint,
            False,
            what + where,
            short.asked,
            taken,
            short.found + taken,
            unit="node" if short.node_gpus else "GPU",
            **more,
        )

    def _whole_fleet(self) -> Supply:
        if self._whole is None:
            self._whole = Supply(self.fleet, [n.gpus for n in self.fleet.nodes], unusable_too=True)
        return self._whole

    # what is free

    def _room_for(self, rank: Rank) -> Supply:
        """What a job of this rank without a reservation finds: free GPUs it may use now."""
        if rank not in self._room:
            room = self.draft.open.copy()
            self.draft.unlock_in(room, self.draft.open_to(-1, rank))
            self._room[rank] = room
        return self._room[rank]

    def _capacity(
        self, job: JobView, rank: Rank, room: Supply, own: ReservationView | None = None
    ) -> list[Verdict]:
        shape = job.shape
        if room.fits(shape.members, shape.model, shape.required):
            whose = rank if own is None else None
            return [*self._passing(shape, room), *self.needs.power_or_data(shape, room, whose)]
        health = self._health(shape, room, None if own is not None else rank)
        held = self._held_by_others(job, rank, room) if self._is_quota_free(job) else None
        gang, topology = self._gang(job, rank, room, own), self._topology(shape, room)
        return [v for v in (health or self._healthy(shape), held, gang, topology) if v is not None]

    def _is_quota_free(self, job: JobView) -> bool:
        refusal = self.draft.claim(job).refusal
        return refusal is None or refusal.constraint is not Constraint.RESERVATION

    def _passing(self, shape: Shape, room: Supply) -> list[Verdict]:
        free = room.free_gpus(shape.model)
        gang = Verdict(Constraint.GANG_SIZE, True, f"{shape.model} GPUs free", shape.gpus, 0, free)
        return [self._healthy(shape), gang]

    def _healthy(self, shape: Shape) -> Verdict:
        usable = self.fleet.usable_gpus.get(shape.model, 0)
        return Verdict(Constraint.NODE_HEALTH, True, f"eligible {shape.model}", None, 0, usable)

    @cached_property
    def _out_of_service(self) -> dict[str, list[int]]:
        """model → its nodes that take no work"""
        out: dict[str, list[int]] = {}
        for index, node in enumerate(self.fleet.nodes):
            if not node.usable:
                out.setdefault(node.model, []).append(index)
        return out

    def _repaired(self, room: Supply, rank: Rank | None) -> Supply:
        """What there would be if all nodes took work. Kept for each rank; None: the room is one job's own."""
        known = self._rooms_repaired.get(rank) if rank is not None else None
        if known is None:
            known = room.copy()
            for index in (i for out in self._out_of_service.values() for i in out):
                held = sum(run.placement[index] for run in self.draft.runs_on(index))
                known.shift(index, max(0, self.fleet.nodes[index].gpus - held))
            if rank is not None:
                self._rooms_repaired[rank] = known
        return known

    def _health(self, shape: Shape, room: Supply, rank: Rank | None) -> Verdict | None:
        """Fails when the gang cannot do without nodes that take no work, or lacks nothing but them."""
        out = self._out_of_service.get(shape.model)
        if not out:
            return None
        note, repaired = "needed", self._whole_fleet()
        if self.draft.whole_fleet.fits(shape.members, shape.model, shape.required):
            note, repaired = "", self._repaired(room, rank)
        else:
            room = self.draft.whole_fleet
        if not repaired.fits(shape.members, shape.model, shape.required):
            return None
        short = self._shortfall(room, shape, shape.required, hopeful=repaired)
        if short is None:
            return None
        names = [f"{self.fleet.nodes[i].name} ({self.fleet.nodes[i].why_not})" for i in out[:MOST_BLOCKERS]]
        if len(out) > MOST_BLOCKERS:
            names.append(f"and {len(out) - MOST_BLOCKERS} more")
        taken = repaired.count(short) - short.found
        return self._counted(
            Constraint.NODE_HEALTH, short, shape, shape.required, taken=taken, names=tuple(names), note=note
        )

    def _held_by_others(self, job: JobView, rank: Rank, room: Supply) -> Verdict | None:
        """Fails when the gang would fit if nothing were held for others."""
        shape = job.shape
        if not any(self.draft.locks.values()):
            return None
        if self._no_locks is None:
            self._no_locks = self.draft.open.copy()
            self.draft.unlock_in(self._no_locks, self.draft.locks)
        if not self._no_locks.fits(shape.members, shape.model, shape.required):
            return None
        short = self._shortfall(room, shape, shape.required, hopeful=self._no_locks)
        if short is None:
            return None
        blockers, until_s = self._gangs_ahead(job, rank)
        taken = self._no_locks.count(short) - short.found
        return self._counted(
            Constraint.RESERVATION,
            short,
            shape,
            shape.required,
            taken=taken,
            blockers=blockers,
            until_s=until_s,
        )

    def _gangs_ahead(self, job: JobView, rank: Rank) -> tuple[tuple[Blocker, ...], float | None]:
        """Who holds free GPUs that the job may not use, and when the last of them is expected to be whole."""
        known = self._ahead.get(rank)
        if known is None or job.id in self.draft.reservations:
            closed = [self._reservation(o) for o in self.draft.closed_to(job.id, rank) if self.draft.locks[o]]
            until = [b.until_s for b in closed if b.until_s is not None]
            known = (tuple(closed[:MOST_BLOCKERS]), max(until, default=None))
            if job.id not in self.draft.reservations:
                self._ahead[rank] = known
        return known

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

    def _gang(self, job: JobView, rank: Rank, room: Supply, own: ReservationView | None) -> Verdict:
        """Are there enough GPUs, on enough nodes with enough of them, anywhere?"""
        shape, note = job.shape, "" if own is None else "gathering"
        until_s = own.ready_s if own is not None else None
        short = self._shortfall(room, shape, Locality.CLUSTER)
        free = room.free_gpus(shape.model)
        if short is None:
            scope = f"{shape.model} GPUs free"
            return Verdict(Constraint.GANG_SIZE, True, scope, shape.gpus, 0, free, note=note, until_s=until_s)
        return self._counted(
            Constraint.GANG_SIZE,
            short,
            shape,
            Locality.CLUSTER,
            note=note,
            blockers=self._holders_of(shape.model),
            until_s=until_s,
            reclaimable=self.preemption.reclaimable_gpus(job, rank),
            names=(str(free),) if short.node_gpus else (),
            proof="search" if shape in self.unresolved else "proof",
        )

    def _topology(self, shape: Shape, room: Supply) -> Verdict | None:
        """Fails when the gang would fit, but not close enough together."""
        if shape.required is Locality.CLUSTER:
            return None
        if not room.fits(shape.members, shape.model, Locality.CLUSTER):
            scope = f"within one {shape.required}"
            return Verdict(Constraint.TOPOLOGY, True, scope, note="room_first", unit="")
        short = self._shortfall(room, shape, shape.required)
        assert short is not None  # else it would fit
        return self._counted(Constraint.TOPOLOGY, short, shape, shape.required)

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

    def _draining(self, job: JobView, rank: Rank) -> Verdict | None:
        """Fails while runs that were told to stop still hold what the job is to have."""
        wanted = self.draft.unfilled(job.id)
        coming = self.draft.leaving_for(job.id, rank)
        nodes = {index for index in wanted if coming.get(index, 0)}
        leaving = [
            run
            for run in self.world.runs.values()
            if (run.phase is Phase.STOPPING or run.id in self.draft.gone)
            and not nodes.isdisjoint(run.placement)
        ]
        if not leaving:
            return None
        blockers = tuple(self._leaver(run) for run in leaving)
        return Verdict(
            Constraint.DRAINING,
            False,
            f"target of job {job.id}",
            len(leaving),
            0,
            0,
            unit="run",
            blockers=blockers,
            until_s=max(b.until_s for b in blockers if b.until_s is not None),
        )

    def _leaver(self, run: RunView) -> Blocker:
        out_s = run.free_by_s if run.free_by_s is not None else self.world.now_s + run.shape.out_s
        return Blocker("run", str(run.job_id), run.shape.gpus, run.shape.tenant, run.shape.tier, out_s)
