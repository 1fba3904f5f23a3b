"""Several programs run as one: all of them, until a signal or until the first of them ends."""

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cluster.supervisor.child import Child, Program

STOP_WITHIN_S = 10.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class ChildDied(Exception):
    """A program ended by itself; `child` has its exit code and its log."""

    def __init__(self, child: Child) -> None:
        how = f"ended with code {child.exit_code}" if (child.exit_code or 0) >= 0 else _signal_words(child)
        super().__init__(f"the {child.program.name} process {how}")
        self.child = child


class NotAnswering(Exception):
    """The programs run, but do not do in time what they were started for; says what."""


class Group:
    """Started by `running`, watched by `wait_until` and `wait`; stopped on the way out, whatever happens."""

    def __init__(self, programs: Sequence[Program], directory: Path) -> None:
        self._programs, self._directory = programs, directory
        self._children: list[Child] = []
        self._stop = threading.Event()

    @contextmanager
    def running(self) -> Iterator["Group"]:
        before = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
        try:
            for program in self._programs:
                self._children.append(Child(program, directory=self._directory))
            yield self
        finally:
            self._stop_all()
            for number, handler in before.items():
                signal.signal(number, handler)

    def wait_until(self, is_so: Callable[[], bool], *, what: str, within_s: float) -> bool:
        """True once it is so; False if asked to stop first. Raises ChildDied, or NotAnswering with `what`."""
        deadline = time.monotonic() + within_s
        while not self._stop.is_set():
            self._raise_if_one_died()
            if is_so():
                return True
            if time.monotonic() > deadline:
                raise NotAnswering(f"{what} within {within_s:.0f} s")
            self._stop.wait(0.2)
        return False

    def wait(self) -> None:
        """Returns when asked to stop. Raises ChildDied."""
        while not self._stop.wait(0.25):
            self._raise_if_one_died()

    def _on_signal(self, number: int, frame: object) -> None:
        if self._stop.is_set():  # a second Ctrl-C: no more patience
            for child in self._children:
                child.kill()
        self._stop.set()

    def _raise_if_one_died(self) -> None:
        for child in self._children:
            if child.exit_code is not None:
                raise ChildDied(child)

    def _stop_all(self) -> None:
        deadline = time.monotonic() + STOP_WITHIN_S
        for child in self._children:
            child.ask_to_stop()
        for child in self._children:
            child.wait(deadline)
            child.kill()  # also sweeps what an ended program left in its group


def _signal_words(child: Child) -> str:
    return f"was ended by {signal.Signals(-(child.exit_code or 0)).name}"
