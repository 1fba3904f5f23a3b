"""One `up` per data directory: two of them would run two beats over one database."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class AlreadyRunning(Exception):
    """Another `up` holds the directory; says which process."""


def _path(data: Path) -> Path:
    return data / "up.lock"


@contextmanager
def sole_runner(data: Path) -> Iterator[None]:
    """Holds the directory. The system frees it when the process ends, however it ends."""
    with _path(data).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise AlreadyRunning(f"process {file.read().strip() or 'unknown'} runs from {data}") from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def is_running(data: Path) -> bool:
    """Does an `up` hold this directory now?"""
    if not _path(data).exists():
        return False
    with _path(data).open("r") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        fcntl.flock(file, fcntl.LOCK_UN)
    return False
