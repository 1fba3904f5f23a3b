"""Entitlements, loans and limits over the tree of tenants: who may still take how much, and by what right.

A tenant's use up to its entitlement is its own; what goes beyond is a loan out of others' idle entitlement.
Its firmest runs count as its own first: those that cannot be preempted, then research, then best effort.
"""

import math
from collections.abc import Mapping
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
        self._totals: dict[tuple[str, str], int] = {}
        for (name, model), counts in self.used.items():
            self._add_up(name, model, sum(counts))
        self._pool: dict[str, tuple[int, int]] = {}
        self._claims: dict[Shape, Claim] = {}

    def _line(self, name: str) -> tuple[str, ...]:
        """The tenant and all above it, from the top."""
        line = [name]
        while (parent := self.tenants[line[-1]].parent) is not None and parent not in line:
            line.append(parent)
        return tuple(reversed(line))

    def _add_up(self, name: str, model: str, gpus: int) -> None:
        for level in self.line.get(name, (name,)):
            self._totals[level, model] = self._totals.get((level, model), 0) + gpus

    def use(self, shape: Shape) -> None:
        counts = self.used.setdefault((shape.tenant, shape.model), [0, 0, 0])
        counts[shape.standing] += shape.gpus
        self._add_up(shape.tenant, shape.model, shape.gpus)
        self._pool.clear()
        self._claims.clear()

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
        return sum(self.used.get((shape.tenant, shape.model), (0, 0, 0))[: shape.standing + 1])

    def loaned(self, name: str, model: str) -> int:
        """GPUs that the tenant (with all below it) uses above its entitlement."""
        return max(0, self.in_use(name, model) - self.entitlement(name, model))

    def pool(self, model: str) -> tuple[int, int]:
        """(GPUs that may be on loan at once, GPUs that are): idle entitlement within lending limits + GPUs of nobody."""
        if model not in self._pool:
            lendable = on_loan = promised = 0
            for name in self._holders():
                entitled = self.entitlement(name, model)
                in_use = sum(self.used.get((name, model), (0,)))
                idle = max(0, entitled - in_use)
                limit = self.tenants[name].lending_limit.get(model)
                lendable += idle if limit is None else min(limit, idle)
                on_loan += max(0, in_use - entitled)
                promised += entitled
            self._pool[model] = (lendable + max(0, self.installed.get(model, 0) - promised), on_loan)
        return self._pool[model]

    def _holders(self) -> list[str]:
        return [name for name in self.tenants if name not in self.below]

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
        return Claim(False, () if refusal else self._share(shape), refusal)

    def _share(self, shape: Shape) -> tuple[float, ...]:
        return tuple(
            self.loaned(name, shape.model) / weight if (weight := self.tenants[name].weight) > 0 else math.inf
            for name in self.line[shape.tenant]
        )

    def quota_verdict(self, shape: Shape) -> Verdict:
        """The quota line of the checklist, passing or not."""
        refusal = self.claim(shape).refusal
        if refusal is not None and refusal.constraint is Constraint.QUOTA:
            return refusal
        entitled = self.entitlement(shape.tenant, shape.model) if shape.tenant in self.tenants else None
        note = "entitled" if self.claim(shape).entitled else "loan"
        used = self.firm_use(shape) if note == "entitled" else self.in_use(shape.tenant, shape.model)
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
        for name in reversed(self.line[own]):
            limit = self.tenants[name].borrowing_limit.get(model)
            if limit is None:
                continue
            in_use, ceiling = self.in_use(name, model), self.entitlement(name, model) + limit
            if in_use + shape.gpus > ceiling:
                return self._quota(name, shape.gpus, in_use, ceiling, "borrowing_limit")
        return self._refuse_by_pool(shape)

    def _quota(self, name: str, gpus: int, used: int, limit: int, note: str) -> Verdict:
        return Verdict(Constraint.QUOTA, False, f"tenant {name}", gpus, used, limit, note=note)

    def _refuse_by_pool(self, shape: Shape) -> Verdict | None:
        lendable, on_loan = self.pool(shape.model)
        before = self.loaned(shape.tenant, shape.model)
        used = self.in_use(shape.tenant, shape.model)
        after = max(0, used + shape.gpus - self.entitlement(shape.tenant, shape.model))
        # What it still uses of its own entitlement was lendable until now, and no longer is.
        own_idle = max(0, self.entitlement(shape.tenant, shape.model) - used)
        own_limit = self.tenants[shape.tenant].lending_limit.get(shape.model)
        others = lendable - (own_idle if own_limit is None else min(own_limit, own_idle))
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

    def lenders(self, model: str, besides: str = "") -> tuple[Blocker, ...]:
        """The tenants that keep idle entitlement to themselves, and how much."""
        kept = []
        for name in self._holders():
            limit = self.tenants[name].lending_limit.get(model)
            idle = max(0, self.entitlement(name, model) - self.in_use(name, model))
            if name != besides and limit is not None and idle > limit:
                kept.append(Blocker("tenant", name, idle - limit, tenant=name))
        return tuple(sorted(kept, key=lambda b: (-b.gpus, b.id)))
