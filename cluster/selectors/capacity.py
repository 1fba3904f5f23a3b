"""Where every GPU is now: the eight states, which sum to the installed GPUs, and what they cost."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property

from django.db.models import DecimalField, ExpressionWrapper, F, Sum

from cluster.models import CapacityState, UsageInterval

ALLOCATED = (
    CapacityState.BUSY,
    CapacityState.IDLE_ALLOCATED,
    CapacityState.UNKNOWN_ALLOCATED,
    CapacityState.STARTING,
)
WASTED = (CapacityState.IDLE_ALLOCATED, CapacityState.STRANDED)
"""Paid for, wanted, and of no use to anybody: held without computing, or free where nobody can use it."""

SHORT: Mapping[CapacityState, str] = {
    CapacityState.BUSY: "Busy",
    CapacityState.IDLE_ALLOCATED: "Idle, held",
    CapacityState.UNKNOWN_ALLOCATED: "No signal",
    CapacityState.STARTING: "Starting",
    CapacityState.RESERVED: "Reserved",
    CapacityState.PLACEABLE: "Placeable",
    CapacityState.STRANDED: "Stranded",
    CapacityState.UNAVAILABLE: "Unavailable",
}
"""For narrow places; the full label stands beside it or on hover."""
MEANING: Mapping[CapacityState, str] = {
    CapacityState.BUSY: "held, and a fresh signal says they compute",
    CapacityState.IDLE_ALLOCATED: "held, and a fresh signal says they do not compute",
    CapacityState.UNKNOWN_ALLOCATED: "held, with no fresh signal: neither busy nor idle",
    CapacityState.STARTING: "held by gangs that stage data, start or restore",
    CapacityState.RESERVED: "kept for a gang that is gathering its nodes",
    CapacityState.PLACEABLE: "free, and a waiting gang's shape could start there",
    CapacityState.STRANDED: "free, but of no use to the shapes that wait",
    CapacityState.UNAVAILABLE: "suspect, in repair or validation, drained, or not accepted",
}


@dataclass(frozen=True)
class Capacity:
    """GPUs and US dollars an hour by state. The states sum to `installed`, exactly."""

    gpus: Mapping[CapacityState, int]
    usd_per_hour: Mapping[CapacityState, Decimal]
    by_model: Mapping[str, Mapping[CapacityState, int]] = field(default_factory=dict)

    @cached_property
    def installed(self) -> int:
        return sum(self.gpus.values())

    @property
    def busy(self) -> int:
        return self.gpus[CapacityState.BUSY]

    @property
    def eligible(self) -> int:
        return self.installed - self.gpus[CapacityState.UNAVAILABLE]

    @property
    def allocated(self) -> int:
        return sum(self.gpus[state] for state in ALLOCATED)

    @property
    def free(self) -> int:
        return self.gpus[CapacityState.PLACEABLE] + self.gpus[CapacityState.STRANDED]

    @property
    def busy_of_installed(self) -> float | None:
        return _ratio(self.busy, self.installed)

    @property
    def busy_of_eligible(self) -> float | None:
        return _ratio(self.busy, self.eligible)

    @property
    def busy_of_allocated(self) -> float | None:
        return _ratio(self.busy, self.allocated)

    @property
    def wasted(self) -> int:
        return sum(self.gpus[state] for state in WASTED)

    @property
    def wasted_usd_per_hour(self) -> Decimal:
        return sum((self.usd_per_hour[state] for state in WASTED), Decimal(0))

    @property
    def installed_usd_per_hour(self) -> Decimal:
        return sum(self.usd_per_hour.values(), Decimal(0))

    @property
    def usd_per_gpu_hour(self) -> Decimal | None:
        """The mean rate; None without GPUs."""
        return self.installed_usd_per_hour / self.installed if self.installed else None


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def capacity_now(gpu_model: str = "") -> Capacity:
    """One query over the open usage intervals; with `gpu_model`, of that model only."""
    rows = UsageInterval.objects.filter(ended_at__isnull=True)
    if gpu_model:
        rows = rows.filter(gpu_model__name=gpu_model)
    cost = ExpressionWrapper(
        F("gpus") * F("usd_per_gpu_hour"), output_field=DecimalField(max_digits=20, decimal_places=4)
    )
    totals = rows.order_by().values("state", "gpu_model__name").annotate(n=Sum("gpus"), usd=Sum(cost))
    gpus, usd = dict.fromkeys(CapacityState, 0), dict.fromkeys(CapacityState, Decimal(0))
    by_model: dict[str, dict[CapacityState, int]] = {}
    for row in totals:
        state = CapacityState(row["state"])
        gpus[state] += row["n"]
        usd[state] += Decimal(row["usd"])
        by_model.setdefault(row["gpu_model__name"], dict.fromkeys(CapacityState, 0))[state] += row["n"]
    return Capacity(gpus, usd, by_model)
