"""GPU-hours and cost by hour, state and tenant. Hours that are over are counted once, then cached."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from django.core.cache import cache
from django.db.models import FloatField, Q
from django.db.models.functions import Cast

from cluster.models import CapacityState, UsageInterval
from cluster.selectors.capacity import WASTED

HOUR = timedelta(hours=1)
_KEPT_S = 48 * 3600
_SETTLED = timedelta(minutes=10)

Key = tuple[int | None, str]
"""(tenant id, capacity state)"""
Piece = tuple[datetime, datetime]


def _zeros() -> defaultdict:  # type: ignore[type-arg]
    return defaultdict(float)


@dataclass
class Usage:
    """GPU-hours and US dollars of a window by tenant and state."""

    start: datetime
    end: datetime
    gpu_hours: dict[Key, float] = field(default_factory=_zeros)
    usd: dict[Key, float] = field(default_factory=_zeros)
    loan_gpu_hours: dict[int, float] = field(default_factory=_zeros)
    """By borrowing tenant; part of `gpu_hours`, not beside it."""

    def hours_of(self, *states: str, tenants: Iterable[int | None] | None = None) -> float:
        """GPU-hours in these states (all, if none is named), of these tenants (all, if None)."""
        return _total(self.gpu_hours, states, tenants)

    def usd_of(self, *states: str, tenants: Iterable[int | None] | None = None) -> float:
        return _total(self.usd, states, tenants)

    @property
    def wasted_usd(self) -> float:
        return self.usd_of(*WASTED)

    @property
    def wasted_gpu_hours(self) -> float:
        return self.hours_of(*WASTED)

    @property
    def mean_gpus(self) -> dict[str, float]:
        """GPUs in each state, averaged over the window."""
        length_h = (self.end - self.start) / HOUR
        return {s: self.hours_of(s) / length_h if length_h else 0.0 for s in CapacityState.values}

    def add(self, other: "Usage") -> None:
        for mine, theirs in (
            (self.gpu_hours, other.gpu_hours),
            (self.usd, other.usd),
            (self.loan_gpu_hours, other.loan_gpu_hours),
        ):
            for key, value in theirs.items():
                mine[key] += value  # type: ignore[index]


def _total(values: dict[Key, float], states: Sequence[str], tenants: Iterable[int | None] | None) -> float:
    wanted = None if tenants is None else set(tenants)
    return sum(
        value
        for (tenant, state), value in values.items()
        if (not states or state in states) and (wanted is None or tenant in wanted)
    )


def usage_by_hour(start: datetime, end: datetime) -> list[Usage]:
    """The window cut at full hours (UTC), oldest first.

    One query for each run of hours that are not in the cache: usually two, for the broken hours at both ends.
    """
    pieces, epoch = _cut(start, end), _epoch()
    kept = cache.get_many([_cache_key(epoch, *piece) for piece in pieces])
    found: dict[Piece, Usage] = {}
    for piece in pieces:
        if (usage := kept.get(_cache_key(epoch, *piece))) is not None:
            found[piece] = usage
    for missing in _runs([piece for piece in pieces if piece not in found]):
        counted = _count(missing)
        final = {_cache_key(epoch, *p): u for p, u in counted.items() if _is_settled(p, now=end)}
        cache.set_many(final, _KEPT_S)
        found |= counted
    return [found[piece] for piece in pieces]


def usage_of(start: datetime, end: datetime) -> Usage:
    """The window as one."""
    whole = Usage(start, end)
    for part in usage_by_hour(start, end):
        whole.add(part)
    return whole


def _cut(start: datetime, end: datetime) -> list[Piece]:
    pieces, at = [], start
    while at < end:
        full = at.astimezone(UTC).replace(minute=0, second=0, microsecond=0) + HOUR
        pieces.append((at, min(full, end)))
        at = full
    return pieces


def _runs(pieces: Iterable[Piece]) -> list[list[Piece]]:
    """The pieces in groups without a gap between them."""
    groups: list[list[Piece]] = []
    for piece in pieces:
        if groups and groups[-1][-1][1] == piece[0]:
            groups[-1].append(piece)
        else:
            groups.append([piece])
    return groups


def _is_settled(piece: Piece, now: datetime) -> bool:
    """A full hour, so long over that no late report changes it any more."""
    return piece[1] - piece[0] == HOUR and piece[1] + _SETTLED < now


def _cache_key(epoch: str, start: datetime, end: datetime) -> str:
    return f"usage:{epoch}:{start.timestamp():.0f}:{end.timestamp():.0f}"


def _epoch() -> str:
    """Tells one cluster's history from another's in the cache: a new demo starts anew."""
    first = UsageInterval.objects.order_by("id").values_list("id", "started_at").first()
    return f"{first[0]}-{first[1].timestamp():.0f}" if first else ""


def _count(pieces: list[Piece]) -> dict[Piece, Usage]:
    """Counted from the intervals in one pass. `pieces` are in order and do not overlap."""
    counted = [Usage(*piece) for piece in pieces]
    ends = [end for _, end in pieces]
    first, last = pieces[0][0], ends[-1]
    rows = UsageInterval.objects.filter(started_at__lt=last).filter(
        Q(ended_at__isnull=True) | Q(ended_at__gt=first)
    )
    rate = Cast("usd_per_gpu_hour", FloatField())
    fields = ("state", "tenant_id", "gpus", "loan_gpus", "rate", "started_at", "ended_at")
    for state, tenant, gpus, loan, usd, began, ended in (
        rows.order_by().annotate(rate=rate).values_list(*fields).iterator(2000)
    ):
        until = ended or last
        for usage in counted[bisect_right(ends, began) :]:
            if usage.start >= until:
                break
            hours = (min(until, usage.end) - max(began, usage.start)) / HOUR
            usage.gpu_hours[tenant, state] += gpus * hours
            usage.usd[tenant, state] += gpus * hours * usd
            if loan and tenant is not None:
                usage.loan_gpu_hours[tenant] += loan * hours
    return dict(zip(pieces, counted, strict=True))
