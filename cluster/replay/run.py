"""Run one scheme over a setup, telling how far it is."""

import time
from collections.abc import Callable

from cluster.replay.metrics import Metrics, Window, measure
from cluster.replay.schemes import Scheme
from cluster.replay.setup import Setup
from cluster.scheduler.replay import Replay

TICK_S = 30.0
TELL_EVERY = 50
"""ticks between two calls of `tell`"""

Tell = Callable[[int, float], None]
"""called with (jobs that have ended, seconds on the replay's clock)"""


def run(
    setup: Setup, scheme: Scheme, tell: Tell = lambda ended, at_s: None, tick_s: float = TICK_S
) -> Metrics:
    """The whole replay until nothing more can happen."""
    work = setup.work()
    replay = Replay(setup.fleet, setup.tenants, work, scheme.policy, tick_s=tick_s)
    window = Window(work[0].submit_s, work[-1].submit_s) if work else Window(0.0, 0.0)
    began = time.perf_counter()
    for moment in replay:
        window.look(moment)
        if moment.counts.ticks % TELL_EVERY == 0:
            tell(len(moment.works) - moment.pending - len(moment.live), moment.now_s)
    seconds = time.perf_counter() - began
    tell(len(work), replay.now_s)
    return measure(replay, window, setup.installed_gpus, seconds)
