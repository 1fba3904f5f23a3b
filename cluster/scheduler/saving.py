"""Quota that is saved up for a gang: what its tenant's own runs use, or what is lent, until it is enough.

A gang that has waited long and is refused only because of what now runs is charged to the books at its turn.
Those behind it in the queue may not use up what comes back, unless they are expected to be done before all of
it is there. So with any stream of small jobs it waits for quota no longer than the runs last that it finds;
after that it gathers nodes.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from cluster.scheduler.ends import projected_end
from cluster.scheduler.lending import Books, Claim
from cluster.scheduler.verdict import Blocker
from cluster.scheduler.words import Constraint
from cluster.scheduler.world import JobView, Shape

if TYPE_CHECKING:
    from cluster.scheduler.draft import Draft


class Savings:
    """The gangs for which quota is saved in one draft, and the books as they are without them."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.jobs: list[JobView] = []
        self._plain: Books | None = None
        self._granted: dict[int, float] = {}

    def begin(self, job: JobView, claim: Claim) -> bool:
        """Save for this refused gang from now on, if it has waited long and that can help it."""
        if not self._may(job):
            return False
        self._plain = self._plain or self.draft.books.copy()
        self.draft.promise(job, claim, saving=True)
        self.jobs.append(job)
        return True

    def _may(self, job: JobView) -> bool:
        world, shape = self.draft.world, job.shape
        if world.now_s - job.queued_s < world.policy.save_after_s:
            return False
        alike = [other.shape for other in self.jobs if other.shape.model == shape.model]
        if len(alike) >= world.policy.reservations_per_model:
            return False
        if any(other.tenant == shape.tenant for other in alike):
            return False
        fits = self.draft.whole_fleet.fits(shape.members, shape.model, shape.required)
        return fits and self.draft.books.attainable(shape)

    def use(self, shape: Shape) -> None:
        if self._plain is not None:
            self._plain.use(shape)

    def charge(self, shape: Shape) -> None:
        if self._plain is not None:
            self._plain.charge(shape)

    def books_for(self, shape: Shape) -> Books:
        """The books that decide on a shape: without what is saved, if that is what it is refused for."""
        books = self.draft.books
        return books if self._plain is None or books.claim(shape).refusal is None else self._plain

    def seen_by(self, job: JobView, refused: Claim) -> Claim:
        """A refused claim, looked at again: who is done in time may use what is saved."""
        assert self._plain is not None
        plain = self._plain.claim(job.shape)
        if plain.refusal is not None or refused.refusal is None:
            return plain
        ahead = [other for other in self.jobs if other.shape.model == job.shape.model]
        if job.duration_s <= min(self.granted_s(other) for other in ahead) - self.draft.world.now_s:
            return plain
        saved = replace(
            refused.refusal,
            constraint=Constraint.RESERVATION,
            note="saving",
            blockers=tuple(self._blocker(other) for other in ahead),
            until_s=_known(max(self.granted_s(other) for other in ahead)),
        )
        return replace(refused, refusal=saved)

    def _blocker(self, job: JobView) -> Blocker:
        until_s = self.expected_s(job)
        return Blocker("job", str(job.id), job.shape.gpus, job.shape.tenant, job.shape.tier, until_s)

    def expected_s(self, job: JobView) -> float | None:
        """When its claim is expected to be granted; None = not foreseen."""
        return _known(self.granted_s(job))

    def granted_s(self, job: JobView) -> float:
        """When its claim is expected to be granted: when enough of what now runs has ended.

        Infinite if that is not enough, because another gang is to start before it.
        """
        if job.id not in self._granted:
            assert self._plain is not None
            books, now_s = self._plain.copy(), self.draft.world.now_s
            alike = [r for r in self.draft.world.runs.values() if r.shape.model == job.shape.model]
            self._granted[job.id] = math.inf
            for end_s, _, shape in sorted((projected_end(r, now_s), r.id, r.shape) for r in alike):
                books.use(shape, times=-1)
                if books.claim(job.shape).refusal is None:
                    self._granted[job.id] = end_s
                    break
        return self._granted[job.id]


def _known(at_s: float) -> float | None:
    return None if math.isinf(at_s) else at_s
