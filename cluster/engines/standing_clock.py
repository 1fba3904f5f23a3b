"""The virtual clock stands still while an installation starts: it must not run ahead of the worker."""

from collections.abc import Iterator
from contextlib import contextmanager

from cluster.engines.simulated import SimulatedEngine, pin_clock, start_clock
from cluster.models import SimulatedClock


@contextmanager
def standing_clock() -> Iterator[None]:
    """Inside, the virtual clock stands; afterwards it goes on from there at its speed. Nothing without one.

    At sixty times the wall's pace a start of ten seconds would else be ten minutes in which nobody ticked.
    """
    clock = SimulatedClock.objects.filter(name="clock").first()
    if clock is None:
        yield
        return
    pin_clock(SimulatedEngine().now())
    try:
        yield
    finally:
        start_clock(clock.speed)
