"""Web server and worker as processes of their own, on the database of the tests."""

import socket
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.db import connection

from cluster.supervisor.child import Child, Program

ROOT = Path(__file__).resolve().parents[2]


def url_of_the_test_database() -> str:
    given = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{given['NAME']}"
    password = f":{given['PASSWORD']}" if given["PASSWORD"] else ""
    return f"postgres://{given['USER']}{password}@{given['HOST']}:{given['PORT'] or 5432}/{given['NAME']}"


@contextmanager
def running(program: Program, data: Path) -> Iterator[Child]:
    """The program, in the mode of this test run; ended with all its children."""
    environment = {
        "DJANGO_SETTINGS_MODULE": "cluster.settings",
        "DATABASE_URL": url_of_the_test_database(),
        "REDIS_URL": settings.REDIS_URL,
        "LOCKSTEP_DATA": str(data),
        "LOCKSTEP_LOCAL": "1",
    }
    child = Child(Program(program.name, program.command, program.log, environment), directory=ROOT)
    try:
        yield child
    finally:
        child.ask_to_stop()
        child.wait(time.monotonic() + 5.0)
        child.kill()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until_it_answers(url: str, child: Child, within_s: float = 60.0) -> None:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            assert child.exit_code is None, child.log_tail(40)
            time.sleep(0.2)
    raise AssertionError(f"{url} does not answer:\n{child.log_tail(40)}")
