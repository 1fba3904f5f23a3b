import os
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from cluster.demo.seed import ensure_demo, sign_ins
from cluster.engines.simulated import resume_clock
from cluster.engines.standing_clock import standing_clock
from cluster.imports.problems import ImportRefused
from cluster.models import Tick
from cluster.selectors.doctor import State, essentials
from cluster.supervisor import address, programs
from cluster.supervisor.group import ChildDied, Group, NotAnswering
from cluster.supervisor.lock import AlreadyRunning, sole_runner
from cluster.traces.trace import TraceError
from fleet.models import Node

STARTS_WITHIN_S = 90.0


class Command(BaseCommand):
    help = "Starts Lockstep: prepares database and demo, runs the web server and the worker until Ctrl-C."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--trace", help="run the demo on this public trace (make up TRACE=FILE)")
        parser.add_argument("--speed", type=float, help="how many times faster than life (make up SPEED=60)")
        parser.add_argument("--port", type=int, default=settings.PORT, help="the port to serve (PORT)")
        parser.add_argument("--host", default=os.environ.get("LOCKSTEP_HOST", "127.0.0.1"))

    def handle(self, *, trace: str | None, speed: float | None, port: int, host: str, **options: Any) -> None:
        _check_values(trace, speed, port)
        _give_each_trace_its_own_data(trace)
        try:
            with sole_runner(settings.LOCKSTEP_DATA):
                self._check_port(host, port)
                self._prepare(trace, speed)
                self._run(host, port)
        except KeyboardInterrupt:
            self.stdout.write("\nStopped before it was up; start again to go on from here.")
            raise SystemExit(130) from None
        except AlreadyRunning as error:
            raise CommandError(
                f"Lockstep is already up: {error}. Stop it with Ctrl-C, or start this one elsewhere: "
                "make up LOCKSTEP_DATA=/other/directory PORT=8001"
            ) from error

    def _check_port(self, host: str, port: int) -> None:
        try:
            free = address.is_free(host, port)
        except OSError as error:
            raise CommandError(f"PORT={port} on {host} cannot be served: {error.strerror}.") from error
        if not free:
            raise CommandError(
                f"PORT={port} is taken by another program on {host}. Choose another: make up PORT={port + 1}"
            )

    def _prepare(self, trace: str | None, speed: float | None) -> None:
        for finding in essentials():
            if finding.state is State.BROKEN:
                raise CommandError(f"{finding.subject}: {finding.says}. {finding.mend}")
        with self._step("Preparing the database"):
            call_command("migrate", verbosity=0, interactive=False)
        _check_that_the_trace_is_new_here(trace)
        with self._step("Preparing the demo cluster"):
            _make_demo(trace, speed)
        connections.close_all()  # the children open their own

    def _run(self, host: str, port: int) -> None:
        logs = settings.LOCKSTEP_DATA / "logs"
        group = Group([programs.web(host, port, logs), programs.worker(logs)], settings.BASE_DIR)
        try:
            with group.running():
                with self._step("Starting the web server and the worker"), standing_clock():
                    ready = self._wait_for_both(group, host, port)
                connections.close_all()
                if ready:
                    self._print_welcome(address.url(host, port), logs)
                    group.wait()
                self.stdout.write("\nStopping …")
            self.stdout.write("Stopped.")
        except ChildDied as error:
            raise CommandError(
                f"{error}; the other was stopped. The end of its log:\n{error.child.log_tail()}"
            ) from error
        except NotAnswering as error:
            raise CommandError(f"{error}; all was stopped. The logs are in {logs}.") from error

    def _wait_for_both(self, group: Group, host: str, port: int) -> bool:
        """The page answers and the worker has ticked; False when asked to stop before."""
        last = _last_tick()
        return group.wait_until(
            lambda: address.answers(host, port), what="the page did not answer", within_s=STARTS_WITHIN_S
        ) and group.wait_until(
            lambda: _last_tick() > last, what="the worker did not tick", within_s=STARTS_WITHIN_S
        )

    def _print_welcome(self, url: str, logs: Path) -> None:
        self.stdout.write(f"\n  Lockstep is up:  {self.style.SUCCESS(url)}\n")
        for name, password, role in sign_ins():
            self.stdout.write(f"    {name:<14} {password:<15} {role}")
        self.stdout.write(
            f"\n  {settings.LOCKSTEP_MODE} mode, data in {settings.LOCKSTEP_DATA}, logs in {logs}"
        )
        chosen = f"LOCKSTEP_DATA={settings.LOCKSTEP_DATA} " if "LOCKSTEP_DATA" in os.environ else ""
        self.stdout.write(f"  How is it?  {chosen}.venv/bin/python manage.py doctor")
        self.stdout.write("  Ctrl-C stops all of it.")
        self.stdout.flush()

    @contextmanager
    def _step(self, words: str) -> Iterator[None]:
        self.stdout.write(f"{words} … ", ending="")
        self.stdout.flush()
        began = time.monotonic()
        try:
            yield
        except BaseException:
            self.stdout.write("")
            raise
        self.stdout.write(f"{time.monotonic() - began:.1f} s")
        self.stdout.flush()


def _last_tick() -> int:
    return Tick.objects.order_by("-number").values_list("number", flat=True).first() or 0


def _check_values(trace: str | None, speed: float | None, port: int) -> None:
    if trace and not Path(trace).is_file():
        raise CommandError(f"TRACE={trace} is not a file.")
    if speed is not None and not 0 < speed <= 100_000:
        raise CommandError(f"SPEED={speed:g} is out of range: give a factor above 0 and up to 100000.")
    if not 0 < port < 65_536:
        raise CommandError(f"PORT={port} is out of range: 1 to 65535.")


def _make_demo(trace: str | None, speed: float | None) -> None:
    try:
        ensure_demo(trace=trace, speed=speed)
    except (TraceError, ImportRefused) as error:
        raise CommandError(f"TRACE={trace} cannot be used: {error}") from error
    resume_clock()
    if trace:
        _remembered_trace().write_text(str(Path(trace).resolve()))


def _check_that_the_trace_is_new_here(trace: str | None) -> None:
    """A trace needs an empty database, or the one that it has filled before."""
    if not trace or not Node.objects.exists():
        return
    kept = _remembered_trace()
    if not kept.exists() or kept.read_text() != str(Path(trace).resolve()):
        raise CommandError(
            f"TRACE={trace} needs an empty database, and this one holds another cluster already: "
            "name another DATABASE_URL or LOCKSTEP_DATA."
        )


def _remembered_trace() -> Path:
    return Path(settings.LOCKSTEP_DATA) / "trace"


def _give_each_trace_its_own_data(trace: str | None) -> None:
    """Starts anew with a data directory for this trace, unless the caller chose where the data goes.

    A trace is another cluster and another clock: mixed into the demo's database both would be wrong.
    """
    if not trace or "LOCKSTEP_DATA" in os.environ or "DATABASE_URL" in os.environ:
        return
    data = settings.LOCKSTEP_DATA / "traces" / Path(trace).name.split(".")[0]
    os.environ["LOCKSTEP_DATA"] = str(data)
    os.execv(sys.executable, [sys.executable, *sys.argv])  # noqa: S606  # ourselves, with the same arguments
