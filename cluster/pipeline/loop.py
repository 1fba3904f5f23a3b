"""Step the control loop through simulated time: for history, for tests, for a terminal."""

from datetime import datetime

from cluster.engines.registry import get_engine
from cluster.engines.simulated import pin_clock
from cluster.models import Tick
from cluster.pipeline.tick import run_tick


def step(at: datetime) -> Tick | None:
    """Move the simulated clock to this time and tick once."""
    pin_clock(at)
    return run_tick(get_engine())
