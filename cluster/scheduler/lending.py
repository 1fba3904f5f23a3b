"""Entitlements, loans and limits over the tree of tenants: who may still take how much, and by what right.

A tenant's use up to its entitlement is its own; what goes beyond is a loan out of others' idle entitlement.
Its firmest runs count as its own first: those that cannot be preempted, then research, then best effort.
"""

import math
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass

from cluster.scheduler.policy import Policy
from cluster.scheduler.verdict import Blocker, Verdict
from cluster.scheduler.words import Constraint
from cluster.scheduler.world import Shape, TenantView


@dataclass(frozen=True, slots=True)
class Claim:
    """By what right a shape would start: entitled, or as a loan, or not at all (`refusal`)."""

    entitled: bool
    share: tuple[float, ...] = ()
    """Loans over weight for each level from the top: the smaller one borrows first."""
    refusal: Verdict | None = None
    own_turn: bool = True
    """Whether it queues with the entitled: it is, or will be when its tenant's own runs have ended."""
    used: int | None = None
    """What stands before it, where that is less than the tenant's firm use: see Draft.claim."""


class Books:
    """What every tenant uses, is entitled to and has on loan. `use` raises use as the plan grows."""

    def __init__(
        self,
        tenants: Mapping[str, TenantView],
        used: Mapping[tuple[str, str], list[int]],
        installed: Mapping[str, int],
        policy: Policy,
    ) -> None:
        self.tenants, self.policy, self.installed = tenants, policy, installed
        self.used = {key: counts[:] for key, counts in used.items()}
        self.line: dict[str, tuple[str, ...]] = {name: self._line(name) for name in tenants}
        self.below: dict[str, list[str]] = {}
        for name, tenant in tenants.items():
            if tenant.parent is not None:
                self.below.setdefault(tenant.parent, []).append(name)
        self.teams = [name for name in tenants if name not in self.below]
        """the tenants that use GPUs: those without others below them"""
        self._totals: dict[tuple[str, str], int] = {}
        for (name, model), counts in self.used.items():
            self._add_up(name, model, sum(counts))
        self.floors: dict[tuple[str, str], int] = {}
        """(tenant, model) → the softest standing of a gang that is charged although it waits"""
        self._pool: dict[str, tuple[int, int]] = {}
        self._claims: dict[Shape, Claim] = {}

    def copy(self) -> "Books":
        twin = copy(self)
        twin.used = {key: counts[:] for key, counts in self.used.items()}
        twin._totals, twin.floors = dict(self._totals), dict(self.floors)
        twin._pool, twin._claims = {}, {}
        return twin

    def _line(self, name: str) -> tuple[str, ...]:
        """The tenant and all above it, from the top."""
        line = [name]
        while (parent := self.tenants[line[-1]].parent) is not None and parent not in line:
            line.append(parent)
        return tuple(reversed(line))

    def _add_up(self, name: str, model: str, gpus: int) -> None:
        for level in self.line.get(name, (name,)):
            self._totals[level, model] = self._totals.get((level, model), 0) + gpus

    def use(self, shape: Shape, times: int = 1) -> None:
        """Count a gang of this shape as running; -1 times: no longer."""
        counts = self.used.setdefault((shape.tenant, shape.model), [0, 0, 0])
        counts[shape.standing] += times * shape.gpus
        self._add_up(shape.tenant, shape.model, times * shape.gpus)
        self._pool.clear()
        self._claims.clear()

    def charge(self, shape: Shape) -> None:
        """Count a gang that waits as if it ran, so that what it needs is not used up by those behind it.

        From now on nothing of its tenant may push it out of the guarantee, however firm it is.
        """
        key = (shape.tenant, shape.model)
        self.floors[key] = max(shape.standing, self.floors.get(key, 0))
        self.use(shape)

    def entitlement(self, name: str, model: str) -> int:
        """The tenant's own guarantee; of an organisation that states none, the sum of those below."""
        own = self.tenants[name].entitlement.get(model)
        if own is not None:
            return own
        return sum(self.entitlement(child, model) for child in self.below.get(name, ()))

    def in_use(self, name: str, model: str) -> int:
        """GPUs used by the tenant and all below it."""
        return self._totals.get((name, model), 0)

    def firm_use(self, shape: Shape) -> int:
        """The tenant's use that stands before this shape: what this shape may not push into a loan."""
        key = (shape.tenant, shape.model)
        softest = max(shape.standing, self.floors.get(key, 0))
        return sum(self.used.get(key, (0, 0, 0))[: softest + 1])

    def loaned(self, name: str, model: str) -> int:
        """GPUs that the tenant (with all below it) uses above its entitlement."""
        return max(0, self.in_use(name, model) - self.entitlement(name, model))

    def pool(self, model: str) -> tuple[int, int]:
        """(GPUs that may be on loan at once, GPUs that are).

        Lent are idle entitlements within their lending limits, and the GPUs that nobody is entitled to.
        """
        if model not in self._pool:
            lendable = on_loan = promised = 0
            for name in self.teams:
                entitled = self.entitlement(name, model)
                in_use = sum(self.used.get((name, model), (0,)))
                idle = max(0, entitled - in_use)
                limit = self.tenants[name].lending_limit.get(model)
                lendable += idle if limit is None else min(limit, idle)
                on_loan += max(0, in_use - entitled)
                promised += entitled
            self._pool[model] = (lendable + max(0, self.installed.get(model, 0) - promised), on_loan)
        return self._pool[model]

    def claim(self, shape: Shape) -> Claim:
        """The right by which this shape could start, were there GPUs."""
        known = self._claims.get(shape)
        if known is None:
            known = self._claims[shape] = self._claim(shape)
        return known

    def _claim(self, shape: Shape) -> Claim:
        if not self.policy.quotas or shape.tenant not in self.tenants:
            return Claim(entitled=True)
        if self.firm_use(shape) + shape.gpus <= self.entitlement(shape.tenant, shape.model):
            return Claim(entitled=True)
        refusal = self._refuse_loan(shape)
        if refusal is not None and self._could_be_own(shape):
            return Claim(False, (), refusal)
        return Claim(False, self._share(shape), refusal, own_turn=False)

    def _could_be_own(self, shape: Shape) -> bool:
        return shape.gpus <= self.entitlement(shape.tenant, shape.model)

    def attainable(self, shape: Shape) -> bool:
        """Would a refused claim be granted once the tenant's own runs have ended and all loans are back?

        False where limits, or guarantees that others use, stand in the way: nobody can say until when.
        """
        if self._could_be_own(shape):
            return True
        if shape.standing == 0 or not self.policy.lending:
            return False
        if any(shape.gpus > ceiling for _, ceiling in self._ceilings(shape)):
            return False
        loan = shape.gpus - self.entitlement(shape.tenant, shape.model)
        return loan <= self._others_lendable(shape)

    def _ceilings(self, shape: Shape) -> Iterator[tuple[str, int]]:
        """(tenant, most GPUs it may use with loans), from the tenant upwards, where there is a limit."""
        for name in reversed(self.line[shape.tenant]):
            limit = self.tenants[name].borrowing_limit.get(shape.model)
            if limit is not None:
                yield name, self.entitlement(name, shape.model) + limit

    def _share(self, shape: Shape) -> tuple[float, ...]:
        return tuple(
            self.loaned(name, shape.model) / weight if (weight := self.tenants[name].weight) > 0 else math.inf
            for name in self.line[shape.tenant]
        )

    def quota_verdict(self, shape: Shape, claim: Claim) -> Verdict:
        """The quota line of the checklist, passing or not."""
        refusal = claim.refusal
        if refusal is not None and refusal.constraint is Constraint.QUOTA:
            return refusal
        entitled = self.entitlement(shape.tenant, shape.model) if shape.tenant in self.tenants else None
        note = "entitled" if claim.entitled else "loan"
        used = self.firm_use(shape) if note == "entitled" else self.in_use(shape.tenant, shape.model)
        used = used if claim.used is None else claim.used
        if not self.policy.quotas:
            entitled, note = None, "no_quotas"
        return Verdict(
            Constraint.QUOTA, True, f"tenant {shape.tenant}", shape.gpus, used, entitled, note=note
        )

    def _refuse_loan(self, shape: Shape) -> Verdict | None:
        """Why this shape may not borrow; None if it may."""
        model, own = shape.model, shape.tenant
        entitled = self.entitlement(own, model)
        firm = self.firm_use(shape)
        if not self.policy.lending:
            return self._quota(own, shape.gpus, firm, entitled, "hard_quota")
        if shape.standing == 0:
            return self._quota(own, shape.gpus, firm, entitled, "not_preemptible")
        for name, ceiling in self._ceilings(shape):
            in_use = self.in_use(name, model)
            if in_use + shape.gpus > ceiling:
                return self._quota(name, shape.gpus, in_use, ceiling, "borrowing_limit")
        return self._refuse_by_pool(shape)

    def _quota(self, name: str, gpus: int, used: int, limit: int, note: str) -> Verdict:
        return Verdict(Constraint.QUOTA, False, f"tenant {name}", gpus, used, limit, note=note)

    def _refuse_by_pool(self, shape: Shape) -> Verdict | None:
        on_loan = self.pool(shape.model)[1]
        before = self.loaned(shape.tenant, shape.model)
        used = self.in_use(shape.tenant, shape.model)
        after = max(0, used + shape.gpus - self.entitlement(shape.tenant, shape.model))
        others = self._others_lendable(shape)
        if on_loan - before + after <= others:
            return None
        return Verdict(
            Constraint.GUARANTEE,
            False,
            f"loans of {shape.model}",
            after - before,
            on_loan,
            others,
            note="lending_limits",
        )

    def _others_lendable(self, shape: Shape) -> int:
        """The lendable GPUs without the tenant's own idle ones, of which a loan leaves none."""
        name, model = shape.tenant, shape.model
        own_idle = max(0, self.entitlement(name, model) - self.in_use(name, model))
        limit = self.tenants[name].lending_limit.get(model)
        return self.pool(model)[0] - (own_idle if limit is None else min(limit, own_idle))

    def lenders(self, model: str, besides: str = "") -> tuple[Blocker, ...]:
        """The tenants that keep idle entitlement to themselves, and how much."""
        kept = []
        for name in self.teams:
            limit = self.tenants[name].lending_limit.get(model)
            idle = max(0, self.entitlement(name, model) - self.in_use(name, model))
            if name != besides and limit is not None and idle > limit:
                kept.append(Blocker("tenant", name, idle - limit, tenant=name))
        return tuple(sorted(kept, key=lambda b: (-b.gpus, b.id)))
