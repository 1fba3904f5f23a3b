"""Loans now: who borrows, whose idle entitlement is lent, and what is being called back."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Min, Sum

from cluster.models import Preemption, PreemptionRule, UsageInterval
from cluster.selectors.standing import Standing


@dataclass(frozen=True)
class Borrower:
    tenant: str
    model: str
    gpus: int
    runs: int
    since: datetime
    called_back_gpus: int = 0
    back_by: datetime | None = None
    """When the first of the called back GPUs are due, at the latest."""


@dataclass(frozen=True)
class Lender:
    """`lent` is the tenant's part of the pool of loans, in proportion to its idle entitlement."""

    tenant: str
    model: str
    lent: int
    idle_entitlement: int
    entitled: int

    @property
    def still_idle(self) -> int:
        return max(0, self.idle_entitlement - self.lent)


@dataclass(frozen=True)
class Loans:
    borrowers: list[Borrower]
    lenders: list[Lender]

    @property
    def gpus(self) -> int:
        return sum(borrower.gpus for borrower in self.borrowers)

    @property
    def called_back_gpus(self) -> int:
        return sum(borrower.called_back_gpus for borrower in self.borrowers)

    @property
    def from_nobody(self) -> int:
        """Borrowed GPUs that belong to no tenant's entitlement."""
        return max(0, self.gpus - sum(lender.lent for lender in self.lenders))


def loans_now(standings: Iterable[Standing]) -> Loans:
    """Two queries beside the standings."""
    called = _called_back()
    rows = UsageInterval.objects.filter(
        ended_at__isnull=True, loan_gpus__gt=0, tenant__isnull=False
    ).order_by()
    totals = rows.values("tenant__name", "gpu_model__name").annotate(
        n=Sum("loan_gpus"), runs=Count("run", distinct=True), since=Min("started_at")
    )
    borrowers = []
    for row in totals:
        key = (row["tenant__name"], row["gpu_model__name"])
        back, deadline = called.get(key, (0, None))
        borrowers.append(Borrower(*key, row["n"], row["runs"], row["since"], min(back, row["n"]), deadline))
    lenders = [
        Lender(s.tenant.name, line.model, line.lent, line.idle_entitlement, line.entitled or 0)
        for s in standings
        if not s.is_group
        for line in s.rows
        if line.lent
    ]
    return Loans(
        sorted(borrowers, key=lambda b: (-b.gpus, b.tenant, b.model)),
        sorted(lenders, key=lambda each: (-each.lent, each.tenant, each.model)),
    )


def _called_back() -> dict[tuple[str, str], tuple[int, datetime | None]]:
    """(tenant, GPU model) → GPUs of loans that are being called back, and the first deadline."""
    rows = Preemption.objects.filter(ended_at__isnull=True, rule=PreemptionRule.RECLAIM).order_by()
    totals = rows.values("victim__job__tenant__name", "victim__job__gpu_model__name")
    return {
        (row["victim__job__tenant__name"], row["victim__job__gpu_model__name"]): (row["n"], row["first"])
        for row in totals.annotate(n=Sum("gpus"), first=Min("deadline"))
    }
