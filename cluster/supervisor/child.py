"""A program started as a child process: its log, its life and its end."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

_LOG_KEPT_BYTES = 5_000_000
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class Program:
    """What to start: a name for messages, a command and the file that takes its output."""

    name: str
    command: tuple[str, ...]
    log: Path
    environment: dict[str, str] = field(default_factory=dict)


class Child:
    """One running program, in a process group of its own, so that Ctrl-C reaches it only through us."""

    def __init__(self, program: Program, *, directory: Path) -> None:
        self.program = program
        program.log.parent.mkdir(parents=True, exist_ok=True)
        _rotate(program.log)
        with program.log.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603  # our own commands, no shell
                [sys.executable, "-m", "cluster.supervisor.child", *program.command],
                cwd=directory,
                env={**os.environ, "PYTHONUNBUFFERED": "1", **program.environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative for the signal that ended it."""
        return self._process.poll()

    def ask_to_stop(self) -> None:
        """To the program itself, not its group: it then ends its own children in good order."""
        if self.exit_code is None:
            self._process.send_signal(signal.SIGTERM)

    def wait(self, deadline: float) -> bool:
        """Has it ended by `deadline` (on time.monotonic)?"""
        try:
            self._process.wait(timeout=max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        """Ends whatever is left of its process group, at once."""
        with suppress(ProcessLookupError):  # nobody left, as it should be
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def log_tail(self, lines: int = 15) -> str:
        text = self.program.log.read_text(errors="replace")
        return "\n".join(text.splitlines()[-lines:])


def _rotate(log: Path) -> None:
    if log.exists() and log.stat().st_size > _LOG_KEPT_BYTES:
        log.replace(log.with_suffix(log.suffix + ".1"))


def _die_with_parent() -> None:
    """On Linux: be asked to stop when the supervisor vanishes without a word (kill -9, out of memory)."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


if __name__ == "__main__":
    _die_with_parent()
    os.execv(sys.argv[1], sys.argv[1:])  # noqa: S606  # becomes the program: same pid, no shell
