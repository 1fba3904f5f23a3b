"""Which runs may be asked to leave for a job, and the cheapest set of them that lets its gang start."""

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cached_property

from cluster.scheduler.draft import Draft, Rank
from cluster.scheduler.ends import projected_end
from cluster.scheduler.needs import PLAIN, Needs
from cluster.scheduler.plan import Eviction
from cluster.scheduler.search_budget import SearchBudget
from cluster.scheduler.supply import Placement, Supply
from cluster.scheduler.words import Phase, PreemptionRule, Tier
from cluster.scheduler.world import JobView, RunView, Shape

STALE_AFTER = 8
"""Changes of the draft after which it is worth working out anew what might be had at the most."""


@dataclass(frozen=True, slots=True)
class Victim:
    run: RunView
    rule: PreemptionRule
    cost: tuple[int, int, float, float]
    """loans first, then the softest tier, so that no victim sends another away in its turn, then GPU-hours
    lost for each GPU freed, then the youngest"""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A run that somebody might send away, with what every search asks of it."""

    run: RunView
    tier: int
    on_loan: int
    lost_per_gpu: float


class Preemption:
    """The search for victims within one draft."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.now_s = draft.world.now_s
        self.budget = SearchBudget(draft.world.policy.search_budget, len(draft.world.queues), self.now_s)
        self._reclaimable: dict[tuple[Rank, str, str, bool], int] = {}
        self._hopeless: dict[tuple[int, bool, str], tuple[int, Supply]] = {}

    @cached_property
    def loans(self) -> dict[int, int]:
        """run id → how many of its GPUs are on loan. A tenant's firmest and oldest runs are its own first."""
        return loans_of(self.draft)

    @cached_property
    def _candidates(self) -> dict[str, list[Candidate]]:
        """The runs that may be preempted at all, by model."""
        found: dict[str, list[Candidate]] = {}
        for run in self.draft.world.runs.values():
            if run.phase is not Phase.STOPPING and run.shape.standing > 0:
                lost = run.lost_gpu_hours(self.now_s) / run.shape.gpus
                candidate = Candidate(run, run.shape.tier.rank, self.loans.get(run.id, 0), lost)
                found.setdefault(run.shape.model, []).append(candidate)
        return found

    def legal(self, job: JobView, rank: Rank) -> list[Victim]:
        """The runs that this job may send away, cheapest first."""
        gone = self.draft.gone
        found = []
        for candidate in self._candidates.get(job.shape.model, ()):
            rule = self._rule(job, rank, candidate)
            if rule is not None and candidate.run.id not in gone:
                found.append(Victim(candidate.run, rule, _cost(candidate, rule)))
        found.sort(key=lambda v: v.cost)
        return found

    def _rule(self, job: JobView, rank: Rank, it: Candidate) -> PreemptionRule | None:
        """By what right, if any, the job may have this run stopped."""
        run = it.run
        if run.is_backfill and self.draft.returns_to(run, job):
            return PreemptionRule.BACKFILL_RETURN
        if not job.may_preempt:
            return None
        if rank.entitled and it.on_loan and run.shape.tenant != job.shape.tenant:
            return PreemptionRule.RECLAIM
        return PreemptionRule.TIER if self._may_preempt(rank, it) else None

    def _may_preempt(self, rank: Rank, it: Candidate) -> bool:
        """A higher tier may preempt a lower one; on loan it may only preempt what is on loan too."""
        if rank.tier >= it.tier or it.run.preemptions_left <= 0:
            return False
        if it.run.came_back and self.now_s - it.run.started_s < self.draft.world.policy.protect_s:
            return False
        return rank.entitled or it.on_loan > 0

    def _may_take(self, rank: Rank, it: Candidate) -> bool:
        """May some job of this rank send the run away?"""
        return (rank.entitled and it.on_loan > 0) or self._may_preempt(rank, it)

    def reclaimable_gpus(self, job: JobView, rank: Rank) -> int:
        """GPUs of all runs that the job might send away, whether or not that would be enough."""
        key = (rank, job.shape.tenant, job.shape.model, job.may_preempt)
        if job.id in self.draft.reservations:  # what backfilled for it counts too
            return sum(victim.run.shape.gpus for victim in self.legal(job, rank))
        if key not in self._reclaimable:
            self._reclaimable[key] = sum(victim.run.shape.gpus for victim in self.legal(job, rank))
        return self._reclaimable[key]

    def search(
        self, job: JobView, rank: Rank, proposed: bool = False
    ) -> tuple[list[Victim], Placement] | None:
        """The cheapest sufficient victims and where the gang will then stand; None if no set suffices.

        No victims at all means that enough is already on its way out. One that a solver proposed, which has
        seen that there is a set, costs nothing of the budget.

        Raises SearchSpent when the budget of this tick is used up, so that nobody takes silence for proof.
        """
        if self._is_hopeless(job, rank):
            return None
        if not proposed and not self.budget.spend():
            raise SearchSpent
        base = self._base(job, rank)
        needs = self.draft.needs(job.shape)
        placement = base.place(job.shape.members, job.shape.model, job.shape.required, needs=needs)
        if placement is not None:
            return [], placement
        victims = self.legal(job, rank)
        return cheapest(base, victims, job.shape, needs) if victims else None

    def search_among(self, runs: Set[int], job: JobView, rank: Rank) -> tuple[list[Victim], Placement] | None:
        """As `search`, with victims only out of these runs. Costs nothing of the budget."""
        victims = [victim for victim in self.legal(job, rank) if victim.run.id in runs]
        return cheapest(self._base(job, rank), victims, job.shape, self.draft.needs(job.shape))

    def _base(self, job: JobView, rank: Rank) -> Supply:
        """What the job can have without a new victim: what it may use at once, and what is on its way out."""
        base = self.draft.open.copy()
        self.draft.unlock_in(base, self.draft.open_to(job.id, rank))
        base.give(self.draft.leaving_for(job.id, rank), self.draft.leaving_draw)
        return base

    def due(self, job: JobView) -> list[Victim]:
        """The backfilled runs to be told now, so that they are out when the rest of the target is whole.

        One that will be done by then is left in peace.
        """
        reservation = self.draft.reservations[job.id]
        rank = self.draft.rank_of[job.id]
        leaving = self.draft.leaving_for(job.id, rank)
        short = {i: g - leaving.get(i, 0) for i, g in self.draft.unfilled(job.id).items()}
        left_s = math.inf if reservation.ready_s is None else reservation.ready_s - self.now_s
        chosen: list[Victim] = []
        for victim in self.legal(job, rank):
            if victim.rule is not PreemptionRule.BACKFILL_RETURN or victim.run.shape.out_s < left_s:
                continue
            is_done = projected_end(victim.run, self.now_s) - self.now_s <= left_s
            if not is_done and any(short.get(i, 0) > 0 for i in victim.run.placement):
                chosen.append(victim)
                for index, gpus in victim.run.placement.items():
                    short[index] = short.get(index, 0) - gpus
        return chosen

    def _is_hopeless(self, job: JobView, rank: Rank) -> bool:
        """Would the gang not even fit if everything went that any job of this rank may send away?

        One answer serves all shapes of a rank, so that proving "cannot" costs no more than "can".
        """
        key = (rank.tier, rank.entitled, job.shape.model)
        known = self._hopeless.get(key)
        # Supply only shrinks: what did not fit into all there was does not fit into what is left of it.
        if known is not None and known[0] != self.draft.version and self._lacks(known[1], job, rank):
            return True
        if known is None or self.draft.version - known[0] > STALE_AFTER:
            known = self._hopeless[key] = (self.draft.version, self._everything(job, rank))
        return self._lacks(known[1], job, rank)

    def _lacks(self, everything: Supply, job: JobView, rank: Rank) -> bool:
        own = self.draft.locks.get(job.id, {})
        already = job.id in self.draft.open_to(-1, rank)
        if own and not already:
            everything.give(own)
        fits = everything.fits(job.shape.members, job.shape.model, job.shape.required)
        if own and not already:
            everything.take(own)
        return not fits

    def _everything(self, job: JobView, rank: Rank) -> Supply:
        """All that a job of this rank might get hold of: more than it may have, never less."""
        everything = self.draft.open.copy()
        self.draft.unlock_in(everything, self.draft.open_to(-1, rank))
        everything.give(self.draft.leaving, self.draft.leaving_draw)
        for it in self._candidates.get(job.shape.model, ()):
            if it.run.id in self.draft.gone:
                continue
            if it.run.is_backfill or self._may_take(rank, it):
                everything.give(it.run.placement, it.run.shape.draw_w)
        return everything

    def evictions(self, job: JobView, victims: Sequence[Victim]) -> list[Eviction]:
        return [
            Eviction(v.run.id, job.id, v.rule, self._level(job, v), v.run.lost_gpu_hours(self.now_s))
            for v in victims
        ]

    def _level(self, job: JobView, victim: Victim) -> str:
        """Where in the tree the rule applied: the lowest tenant above both, or the cluster."""
        line = self.draft.books.line
        ours = line.get(job.shape.tenant, ())
        theirs = line.get(victim.run.shape.tenant, ())
        shared = [a for a, b in zip(ours, theirs, strict=False) if a == b]
        return f"tenant {shared[-1]}" if shared else "cluster"


def _cost(candidate: Candidate, rule: PreemptionRule) -> tuple[int, int, float, float]:
    whole_loan = candidate.on_loan == candidate.run.shape.gpus
    kind = 1 if whole_loan else 2 if candidate.on_loan else 3
    if rule is PreemptionRule.BACKFILL_RETURN:
        kind = 0
    return (kind, -candidate.tier, candidate.lost_per_gpu, -candidate.run.started_s)


class SearchSpent(Exception):
    """The tick's budget for victim searches is used up: no answer, which is not a "no"."""


def loans_of(draft: Draft) -> dict[int, int]:
    """run id → GPUs on loan, for all runs above their tenant's entitlement."""
    if not draft.world.policy.quotas:
        return {}
    loans: dict[int, int] = {}
    for (tenant, model), runs in draft.runs_of.items():
        left = draft.books.entitlement(tenant, model) if tenant in draft.world.tenants else 0
        for run in runs:
            own = min(left, run.shape.gpus)
            left -= own
            if run.shape.gpus > own and run.shape.tier is not Tier.PRODUCTION:
                loans[run.id] = run.shape.gpus - own
    return loans


def cheapest(
    base: Supply, victims: Sequence[Victim], shape: Shape, needs: Needs = PLAIN
) -> tuple[list[Victim], Placement] | None:
    """The cheapest prefix of victims that makes room, without those that turn out not to be needed.

    Domains first, victims second: each domain of the required locality is tried by itself. Within one,
    more victims never make less room, so the shortest sufficient prefix is found by halving.
    """
    found: tuple[tuple[int, int, float], list[Victim], Placement] | None = None
    touching = _by_domain(base, victims)
    room = base.copy()
    for domain in base.fleet.at(shape.model, shape.required):
        inside = touching.get(domain, [])
        if not inside or base.total[domain] + _freed_in(base, inside, domain) < shape.gpus:
            continue
        chosen = _sufficient(room, inside, shape, domain, needs)
        if not chosen:
            continue
        _give(room, chosen)
        placement = room.place(shape.members, shape.model, shape.required, within=domain, needs=needs)
        _withdraw(room, chosen)
        kind, hardest = max(v.cost[:2] for v in chosen)
        price = (kind, hardest, sum(v.cost[2] * v.run.shape.gpus for v in chosen))
        if placement is not None and (found is None or price < found[0]):
            found = (price, chosen, placement)
    return (found[1], found[2]) if found else None


def _by_domain(base: Supply, victims: Sequence[Victim]) -> dict[int, list[Victim]]:
    """The victims that stand in each domain, in their order."""
    touching: dict[int, list[Victim]] = {}
    for victim in victims:
        for domain in {d for index in victim.run.placement for d in base.fleet.within[index]}:
            touching.setdefault(domain, []).append(victim)
    return touching


def _freed_in(base: Supply, victims: Sequence[Victim], domain: int) -> int:
    """GPUs that these victims would free within the domain."""
    within = base.fleet.within
    return sum(
        gpus for victim in victims for index, gpus in victim.run.placement.items() if domain in within[index]
    )


def _give(room: Supply, victims: Sequence[Victim]) -> None:
    for victim in victims:
        room.give(victim.run.placement, victim.run.shape.draw_w)


def _withdraw(room: Supply, victims: Sequence[Victim]) -> None:
    for victim in victims:
        room.withdraw(victim.run.placement, victim.run.shape.draw_w)


def _sufficient(
    room: Supply, victims: Sequence[Victim], shape: Shape, domain: int, needs: Needs
) -> list[Victim]:
    """The shortest sufficient prefix, less each victim that the others make superfluous, the dearest first.

    Empty if all of them are not enough. Leaves the room as it was.
    """
    low, high, given = 0, len(victims), len(victims)
    _give(room, victims)
    if not room.takes(shape.members, domain, needs):
        _withdraw(room, victims)
        return []
    while high - low > 1:
        middle = (low + high) // 2
        if middle > given:
            _give(room, victims[given:middle])
        else:
            _withdraw(room, victims[middle:given])
        given = middle
        if room.takes(shape.members, domain, needs):
            high = middle
        else:
            low = middle
    if high > given:
        _give(room, victims[given:high])
    else:
        _withdraw(room, victims[high:given])
    chosen = list(victims[:high])
    for victim in reversed(victims[:high]):
        _withdraw(room, [victim])
        if room.takes(shape.members, domain, needs):
            chosen.remove(victim)
        else:
            _give(room, [victim])
    _withdraw(room, chosen)
    return chosen
