"""The life of a simulated gang as arithmetic: where it stands at any time follows from its launch.

All times are seconds on one clock. Work is done in stretches of `interval_s`, each followed by a checkpoint
of `cost_s` during which no work is done; without an interval it runs through.
"""

import math
from dataclasses import dataclass

MOST_CHECKPOINTS = 20
"""Of a long run only the newest are told: a tick is not to hear its whole past again."""


@dataclass(frozen=True, slots=True)
class Timeline:
    launched_s: float
    ready_s: float | None
    """None: some member never becomes ready."""
    work_s: float
    """Work to do in this run."""
    done_s: float = 0.0
    """Work done before it, from the checkpoint it resumed from."""
    interval_s: float | None = None
    cost_s: float = 0.0
    on_signal: bool = True
    fails_at_s: float | None = None
    """Work, from the start of the run, after which it fails by itself."""
    signalled_s: float | None = None
    stop_s: float | None = None
    """End of the grace window."""
    lost_s: float | None = None
    """A node of it is lost at this time."""

    @property
    def cycle_s(self) -> float:
        return (self.interval_s or math.inf) + self.cost_s

    def worked_s(self, at_s: float) -> float:
        """Work done in this run up to a time, were it not stopped."""
        if self.ready_s is None or at_s <= self.ready_s:
            return 0.0
        ran = at_s - self.ready_s
        if self.interval_s is None:
            return min(ran, self.work_s)
        cycles, rest = divmod(ran, self.cycle_s)
        return min(cycles * self.interval_s + min(rest, self.interval_s), self.work_s)

    def at_work_s(self, worked_s: float) -> float:
        """The time at which so much work is done."""
        assert self.ready_s is not None
        if self.interval_s is None:
            return self.ready_s + worked_s
        before = max(0, math.ceil(worked_s / self.interval_s) - 1)
        return self.ready_s + worked_s + before * self.cost_s

    def progress_s(self, at_s: float) -> float:
        """Work done since the start of the job; a gang that saves on the signal works no further."""
        end_s, cause = self.end()
        until_s = min(at_s, end_s)
        if cause == "stopped" and self._saves_on_signal() and self.signalled_s is not None:
            until_s = min(until_s, self.signalled_s)
        return self.done_s + self.worked_s(until_s)

    def end(self) -> tuple[float, str]:
        """(time, cause) of the first thing that ends it; time is infinite if nothing does."""
        ends: list[tuple[float, str]] = []
        if self.ready_s is not None:
            ends.append((self.at_work_s(self.work_s), "completed"))
            if self.fails_at_s is not None and self.fails_at_s < self.work_s:
                ends.append((self.at_work_s(self.fails_at_s), "failed"))
        if self.lost_s is not None:
            ends.append((self.lost_s, "node_lost"))
        if self.signalled_s is not None and self.stop_s is not None:
            ends.append((self._stopped_s(), "stopped"))
        return min(ends, default=(math.inf, ""))

    def _stopped_s(self) -> float:
        """A gang that checkpoints on signal leaves when it has; one that is not ready leaves at once."""
        assert self.signalled_s is not None and self.stop_s is not None
        if self.ready_s is None or self.signalled_s < self.ready_s:
            return min(self.signalled_s + 5.0, self.stop_s)
        if self.on_signal:
            return min(self.signalled_s + self.cost_s, self.stop_s)
        return self.stop_s

    def checkpoints(self, at_s: float) -> list[tuple[float, float]]:
        """(time, work kept since the start of the job) of the newest that are durable by `at_s`."""
        if self.ready_s is None:
            return []
        end_s, cause = self.end()
        until_s = min(at_s, end_s)
        kept = self._periodic(until_s)
        if cause == "stopped" and at_s >= end_s and self._saves_on_signal() and self.signalled_s is not None:
            kept.append((end_s, self.done_s + self.worked_s(self.signalled_s)))
        return kept

    def _periodic(self, until_s: float) -> list[tuple[float, float]]:
        if self.interval_s is None or self.ready_s is None or until_s <= self.ready_s:
            return []
        most = math.ceil(self.work_s / self.interval_s) - 1  # none follows the last stretch
        whole = min(int((until_s - self.ready_s) // self.cycle_s), most)
        return [
            (self.ready_s + number * self.cycle_s, self.done_s + number * self.interval_s)
            for number in range(max(1, whole - MOST_CHECKPOINTS + 1), whole + 1)
        ]

    def _saves_on_signal(self) -> bool:
        """Is the checkpoint that the signal asks for durable before the window ends?"""
        if self.signalled_s is None or self.stop_s is None or self.ready_s is None:
            return False
        in_time = self.signalled_s + self.cost_s <= self.stop_s
        return self.on_signal and self.signalled_s >= self.ready_s and in_time
