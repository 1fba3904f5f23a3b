"""Let the real control loop live through some hours of simulated time, so that a fresh demo has a past."""

from collections.abc import Callable
from datetime import datetime, timedelta

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from cluster.demo.arrivals import MOST_AT_ONCE, submit_due
from cluster.engines.simulated import pin_clock
from cluster.models import SimulatedClock
from cluster.pipeline.loop import step

HOURS = timedelta(hours=4)
EVERY = timedelta(seconds=300)
"""No longer than an activity signal counts as fresh: else the end of each step would be booked as unknown."""

Happening = tuple[datetime, Callable[[], object]]
"""something that a person or the world does at its time"""


def set_up_clock(start: datetime, seed: int) -> None:
    """The simulated clock, standing at `start`; the seed decides which nodes fail when."""
    pin_clock(start)
    SimulatedClock.objects.filter(name="clock").update(seed=seed)


def live_through(start: datetime, end: datetime, happenings: list[Happening] | None = None) -> int:
    """Tick from start to end, with a bar on a terminal; gives the ticks. The clock stands at `end` then."""
    waiting = sorted(happenings or [], key=lambda happening: happening[0])
    console = Console(stderr=True)
    columns = (TextColumn("living through the first hours"), BarColumn(), TimeElapsedColumn())
    ticks, at = 0, start
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("history", total=(end - start) / EVERY)
        while at <= end:
            pin_clock(at)
            while waiting and waiting[0][0] <= at:
                waiting.pop(0)[1]()
            while submit_due(at) == MOST_AT_ONCE:
                pass
            step(at)
            bar.update(task, advance=1)
            ticks, at = ticks + 1, at + EVERY
    pin_clock(end)
    return ticks
