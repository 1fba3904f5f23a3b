"""How old what the pages show is: the last tick, the engine's clock, the last event."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from cluster.engines.registry import get_engine
from cluster.models import Tick
from cluster.selectors.cursor import settled_cursor

STALE_AFTER_S = 30.0
"""Wall seconds without a tick after which the page says so."""
UNKNOWN_AFTER_S = 150.0
"""Wall seconds without a tick after which the numbers are no longer shown as if they were true."""


@dataclass(frozen=True)
class Freshness:
    """Times of the cluster. `now` runs on the engine's clock, `wall_at` on the wall's."""

    now: datetime
    clock_rate: float
    cursor: int
    """The last event when the page was made: live updates go on from there."""
    tick: int | None
    as_of: datetime | None
    """The engine's time of the last tick: what is shown is true as of then."""
    wall_at: datetime | None

    @property
    def is_off_the_wall(self) -> bool:
        """The engine's clock is not the wall's: it runs faster, or it shows another day."""
        return self.clock_rate != 1.0 or abs(self.now - timezone.now()) > timedelta(minutes=1)

    @property
    def age_s(self) -> float | None:
        """Wall seconds since the last tick; None before the first."""
        return None if self.wall_at is None else (timezone.now() - self.wall_at) / timedelta(seconds=1)

    @property
    def is_stale(self) -> bool:
        return self.age_s is None or self.age_s > STALE_AFTER_S

    @property
    def is_lost(self) -> bool:
        return self.age_s is None or self.age_s > UNKNOWN_AFTER_S

    @property
    def quiet_s(self) -> float:
        """Wall seconds without any event after which a connected page calls itself stale."""
        return 2 * STALE_AFTER_S


def freshness() -> Freshness:
    """Three queries at the most: the last event, the last tick, and what the engine's clock needs."""
    cursor = settled_cursor()  # before the rows: an event in between is then told twice, never lost
    tick = Tick.objects.order_by("-number").values("number", "now", "wall_at").first()
    engine = get_engine()
    return Freshness(
        now=engine.now(),
        clock_rate=engine.speed(),
        cursor=cursor,
        tick=tick["number"] if tick else None,
        as_of=tick["now"] if tick else None,
        wall_at=tick["wall_at"] if tick else None,
    )


def last_tick_at() -> datetime:
    """The engine's time of the last tick; now if there was none.

    What a page works out itself holds as of then, so that it agrees with pages that read what the tick wrote.
    """
    last = Tick.objects.order_by("-number").values_list("now", flat=True).first()
    return last or get_engine().now()
