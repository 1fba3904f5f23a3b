"""GPU-time and cost of a window by tenant, state and GPU model: exact, with the figures to check it by.

Counted in GPU-microseconds, whole numbers, so that nothing is lost by rounding: the sum over all rows is
installed × window to the microsecond.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise

from django.db.models import Q

from cluster.models import UsageInterval
from fleet.models import Gpu

MICROSECOND = timedelta(microseconds=1)
US_PER_S = 1_000_000
US_PER_H = 3600 * US_PER_S
RATE_UNIT = Decimal(10_000)
"""Prices have four decimals: kept as whole ten-thousandths."""

Key = tuple[str | None, str, str]
"""(tenant, state, GPU model)"""


@dataclass
class Amount:
    """GPU-microseconds, those on loan, and their cost in GPU-microseconds × 1/10,000 USD an hour."""

    gpu_us: int = 0
    loan_gpu_us: int = 0
    priced: int = 0

    @property
    def gpu_seconds(self) -> Decimal:
        return Decimal(self.gpu_us) / US_PER_S

    @property
    def gpu_hours(self) -> float:
        return self.gpu_us / US_PER_H

    @property
    def loan_gpu_hours(self) -> float:
        return self.loan_gpu_us / US_PER_H

    @property
    def cost_usd(self) -> Decimal:
        """Rounded to a millionth; the parts are not rounded before they are summed."""
        return (Decimal(self.priced) / RATE_UNIT / US_PER_H).quantize(Decimal("0.000001"))


@dataclass(frozen=True)
class Level:
    """So many GPUs were accounted for from `start` to `end`."""

    start: datetime
    end: datetime
    gpus: int


@dataclass(frozen=True)
class UsageReport:
    """`start` is no earlier than the first record: before it nothing is known."""

    start: datetime
    end: datetime
    amounts: dict[Key, Amount]
    levels: list[Level]
    installed_gpus: int
    """As the fleet has it now, counted independently of the intervals."""

    @property
    def sum_gpu_us(self) -> int:
        return sum(amount.gpu_us for amount in self.amounts.values())

    @property
    def installed_gpu_us(self) -> int:
        """Installed × window."""
        return self.installed_gpus * ((self.end - self.start) // MICROSECOND)

    @property
    def holds(self) -> bool | None:
        """Do the states sum to installed × window? None where the fleet was changed within the window."""
        if len(self.levels) > 1:
            return None
        return self.sum_gpu_us == self.installed_gpu_us


def usage_report(start: datetime, end: datetime) -> UsageReport:
    """Everything that was recorded in [start, end). Three queries. `end` must not lie in the future."""
    first = UsageInterval.objects.order_by("started_at").values_list("started_at", flat=True).first()
    start = end if first is None else min(max(start, first), end)
    amounts: dict[Key, Amount] = defaultdict(Amount)
    changes: dict[datetime, int] = defaultdict(int)
    for tenant, state, model, gpus, loan_gpus, rate, began, ended in _rows(start, end):
        since, until = max(began, start), min(ended or end, end)
        length_us = (until - since) // MICROSECOND
        amount = amounts[tenant, state, model]
        amount.gpu_us += gpus * length_us
        amount.loan_gpu_us += loan_gpus * length_us
        amount.priced += gpus * length_us * int(rate * RATE_UNIT)
        changes[since] += gpus
        changes[until] -= gpus
    return UsageReport(start, end, dict(amounts), _levels(changes), Gpu.objects.count())


def _rows(start: datetime, end: datetime) -> Iterable[tuple]:  # type: ignore[type-arg]
    overlapping = UsageInterval.objects.filter(started_at__lt=end).filter(
        Q(ended_at=None) | Q(ended_at__gt=start)
    )
    fields = ("tenant__name", "state", "gpu_model__name", "gpus", "loan_gpus", "usd_per_gpu_hour")
    return overlapping.order_by().values_list(*fields, "started_at", "ended_at").iterator(2000)


def _levels(changes: dict[datetime, int]) -> list[Level]:
    """GPUs accounted for over time; one level if none was ever lost or counted twice."""
    found: list[Level] = []
    gpus = 0
    for at, following in pairwise(sorted(changes)):
        gpus += changes[at]
        if found and found[-1].gpus == gpus:
            found[-1] = Level(found[-1].start, following, gpus)
        else:
            found.append(Level(at, following, gpus))
    return found
