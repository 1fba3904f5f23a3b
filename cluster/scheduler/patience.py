"""Start now, spread out, or wait for a set that is closer together: whichever serves the job better."""

from collections.abc import Mapping

from cluster.scheduler.draft import Draft, Rank
from cluster.scheduler.gathering import Gathering, Target
from cluster.scheduler.policy import Queueing
from cluster.scheduler.spread import (
    LEAST_GAIN_S,
    Choice,
    Objective,
    exposed_share,
    level_of,
    slowdown,
    waits,
)
from cluster.scheduler.supply import LEVELS, Placement
from cluster.scheduler.words import Locality
from cluster.scheduler.world import JobView

CLOSENESS = (Locality.NODE, *LEVELS)


class Patience:
    """The choices made within one draft. A gang waits only for nodes that it may gather."""

    def __init__(self, draft: Draft, gathering: Gathering) -> None:
        self.draft, self.gathering = draft, gathering
        self.policy, self.now_s = draft.world.policy, draft.world.now_s
        self.choices: dict[int, Choice] = {}
        """by job id: every choice that was weighed"""
        self._targets: dict[int, Target] = {}

    def target_of(self, job: JobView) -> Target | None:
        """What the job waits for although it could start; None if it does not."""
        return self._targets.get(job.id)

    def waits(self, job: JobView, rank: Rank, placement: Placement, *, may_begin: bool) -> bool:
        """Would it rather not start here and now?"""
        closer = self._closer_levels(job, placement)
        if not closer or not may_begin or not self._could_gain(job, placement, closer[0]):
            return False
        target = self._best(job, rank, closer)
        if target is None:
            return False
        now = self.gathering.option(job, placement, self.now_s)
        later = self.gathering.option(job, target.placement, target.ready_s)
        chosen = waits(now, later, job.objective, job.deadline_s)
        self.choices[job.id] = Choice(now, later, chosen, job.objective)
        if chosen:
            self._targets[job.id] = target
        return chosen

    def _closer_levels(self, job: JobView, placement: Mapping[int, int]) -> list[Locality]:
        """Levels between what the job prefers and where it would stand now, the closest first."""
        shape = job.shape
        if self.policy.queueing is not Queueing.LOCKSTEP or shape.node_count <= 1:
            return []
        if not exposed_share(self.policy, shape.kind):
            return []
        here = CLOSENESS.index(level_of(self.draft.world.fleet, placement))
        return [
            level for level in LEVELS if CLOSENESS.index(shape.preferred) <= CLOSENESS.index(level) < here
        ]

    def _could_gain(self, job: JobView, placement: Mapping[int, int], closest: Locality) -> bool:
        """Even if the closer set were there at once, would it be worth it?"""
        here = level_of(self.draft.world.fleet, placement)
        kind = job.shape.kind
        gain_s = job.duration_s * (slowdown(self.policy, kind, here) - slowdown(self.policy, kind, closest))
        return gain_s > (0.0 if job.objective is Objective.COST else LEAST_GAIN_S)

    def _best(self, job: JobView, rank: Rank, levels: list[Locality]) -> Target | None:
        """The closer set on which it would be done soonest; the one it gathers unless another is better."""
        found = self._standing(job, rank, levels)
        for level in levels:
            target = self.gathering.best(job, rank, level)
            if target is not None and (found is None or target.done_s < found.done_s - LEAST_GAIN_S):
                found = target
        return found

    def _standing(self, job: JobView, rank: Rank, levels: list[Locality]) -> Target | None:
        old = self.draft.reservations.get(job.id)
        if old is None or level_of(self.draft.world.fleet, old.target) not in (*levels, Locality.NODE):
            return None
        ready_s = self.gathering.ready(job, rank, old.target)
        return None if ready_s is None else self.gathering.target(job, old.target, ready_s)
