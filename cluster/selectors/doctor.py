"""What runs here, what is missing and how it is mended: for `manage.py doctor` and /status/."""

import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from cluster.deployment import Mode
from cluster.models import Tick
from cluster.supervisor.lock import is_running

WORKER_SILENT_AFTER_S = 15.0
_WAITING_MESSAGES_WARN = 200
_FREE_DISK_WARN_GB = 1.0
_LOWEST_POSTGRESQL = 14


class State(StrEnum):
    OK = "ok"
    WARNING = "warning"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Finding:
    """One subject examined: how it stands, in words, and what to do where it is not well."""

    subject: str
    state: State
    says: str
    mend: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    mode: Mode
    findings: tuple[Finding, ...]
    limits: tuple[str, ...]

    @property
    def is_broken(self) -> bool:
        return any(finding.state is State.BROKEN for finding in self.findings)


def examine() -> Report:
    """The whole report. Never raises: what cannot be reached is a finding."""
    database = database_finding()
    findings = [database, broker_finding()]
    if database.state is not State.BROKEN:
        findings += [migrations_finding(), worker_finding(datetime.now(UTC))]
    findings += [
        channel_layer_finding(),
        engine_finding(),
        static_finding(),
        disk_finding(),
        exposure_finding(),
    ]
    return Report(settings.LOCKSTEP_MODE, tuple(findings), LIMITS[settings.LOCKSTEP_MODE])


def essentials() -> list[Finding]:
    """What must be sound before anything can start: the database and the broker."""
    return [database_finding(), broker_finding()]


def database_finding() -> Finding:
    """Reachable, new enough, and in write-ahead mode where it is SQLite. The password is never named."""
    try:
        with connection.cursor() as cursor:
            return _sqlite_finding(cursor) if connection.vendor == "sqlite" else _postgresql_finding(cursor)
    except (DatabaseError, OSError) as error:
        return Finding(
            "database",
            State.BROKEN,
            f"{_database_name()} cannot be used: {_first_line(error)}",
            "Start the database, or correct DATABASE_URL (sqlite:///FILE or postgres://USER@HOST/NAME).",
        )


def _sqlite_finding(cursor: Any) -> Finding:
    cursor.execute("SELECT sqlite_version()")
    version = cursor.fetchone()[0]
    cursor.execute("PRAGMA journal_mode")
    journal = cursor.fetchone()[0]
    if journal not in ("wal", "memory"):
        return Finding(
            "database",
            State.WARNING,
            f"SQLite {version} in {_database_name()} is in {journal} mode: readers wait for writers",
            "Move LOCKSTEP_DATA to a local disk: network file systems cannot hold a write-ahead log.",
        )
    return Finding("database", State.OK, f"SQLite {version}, write-ahead log, {_database_name()}")


def _postgresql_finding(cursor: Any) -> Finding:
    cursor.execute("SHOW server_version")
    version = cursor.fetchone()[0]
    if int(version.split(".")[0]) < _LOWEST_POSTGRESQL:
        mend = f"Upgrade it to {_LOWEST_POSTGRESQL} or newer."
        return Finding("database", State.BROKEN, f"PostgreSQL {version} is too old", mend)
    return Finding("database", State.OK, f"PostgreSQL {version}, {_database_name()}")


def _database_name() -> str:
    configured = connection.settings_dict
    if connection.vendor == "sqlite":
        return str(configured["NAME"])
    return f"{configured['NAME']} on {configured.get('HOST') or 'the local socket'}"


def migrations_finding() -> Finding:
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if not plan:
        return Finding("migrations", State.OK, "all applied")
    first = plan[0][0]
    says = f"{len(plan)} not applied, the first is {first.app_label} {first.name}"
    return Finding("migrations", State.BROKEN, says, "manage.py migrate (or `make up`, which does it).")


def broker_finding() -> Finding:
    """Where tasks wait for the worker."""
    if settings.LOCKSTEP_MODE is Mode.SERVER:
        return _redis_finding("broker", "Redis carries the tasks")
    queue = Path(settings.CELERY_BROKER_TRANSPORT_OPTIONS["data_folder_in"])
    try:
        waiting = sum(1 for _ in queue.iterdir())
        (queue.parent / ".writable").touch()
    except OSError as error:
        says = f"{queue} cannot be used: {error.strerror}"
        return Finding("broker", State.BROKEN, says, "Let LOCKSTEP_DATA name a directory you may write to.")
    if waiting > _WAITING_MESSAGES_WARN:
        mend = "The worker cannot keep up or does not run; see worker.log in the data directory."
        return Finding("broker", State.WARNING, f"{waiting} tasks wait in {queue}", mend)
    return Finding("broker", State.OK, f"files in {queue.parent}, {waiting} tasks waiting")


def channel_layer_finding() -> Finding:
    if settings.LOCKSTEP_MODE is Mode.SERVER:
        return _redis_finding(
            "live updates", "Redis wakes the web processes; the event table carries the news"
        )
    return Finding("live updates", State.OK, "each web process reads the event table once a second")


def _redis_finding(subject: str, purpose: str) -> Finding:
    try:
        client = redis.Redis.from_url(settings.REDIS_URL, socket_connect_timeout=2, socket_timeout=2)
        version = client.info("server")["redis_version"]
    except (redis.RedisError, OSError, ValueError) as error:
        mend = "Start Redis, correct REDIS_URL (redis://HOST:6379/0), or unset it for embedded mode."
        return Finding(subject, State.BROKEN, f"Redis does not answer: {_first_line(error)}", mend)
    return Finding(subject, State.OK, f"{purpose} (Redis {version})")


def worker_finding(wall: datetime) -> Finding:
    """The tick is the worker's heartbeat: its age on the wall clock tells whether anything is scheduled."""
    try:
        last = Tick.objects.order_by("-number").first()
    except DatabaseError as error:
        return Finding("worker", State.BROKEN, f"no ticks to read: {_first_line(error)}", "manage.py migrate")
    expected = settings.LOCKSTEP_MODE is Mode.SERVER or is_running(settings.LOCKSTEP_DATA)
    if not expected:
        return Finding("worker", State.WARNING, "not started: nothing is scheduled now", "make up")
    mend = "Start one: celery -A cluster.celery worker --beat (`make up` does); its log says why it stopped."
    if last is None:
        return Finding("worker", State.BROKEN, "no tick was ever made: no worker runs", mend)
    age_s = (wall - last.wall_at).total_seconds()
    if age_s > WORKER_SILENT_AFTER_S:
        return Finding("worker", State.BROKEN, f"silent: the last tick is {_duration(age_s)} old", mend)
    return Finding("worker", State.OK, f"tick {last.number}, {age_s:.1f} s ago")


def engine_finding() -> Finding:
    if settings.LOCKSTEP_ENGINE == "simulated":
        says = "simulated: gangs run on a virtual clock, no real process is started"
    else:
        says = settings.LOCKSTEP_ENGINE
    return Finding("engine", State.OK, says)


def static_finding() -> Finding:
    if settings.WHITENOISE_USE_FINDERS:
        return Finding("static files", State.OK, "served out of the installed packages")
    manifest = Path(settings.STATIC_ROOT) / "staticfiles.json"
    if manifest.exists():
        return Finding("static files", State.OK, f"collected in {settings.STATIC_ROOT}")
    says = f"LOCKSTEP_STATIC names {settings.STATIC_ROOT}, where nothing was collected"
    return Finding("static files", State.BROKEN, says, "manage.py collectstatic --noinput")


def disk_finding() -> Finding:
    free_gb = shutil.disk_usage(settings.LOCKSTEP_DATA).free / 1e9
    says = f"{settings.LOCKSTEP_DATA}, {free_gb:,.1f} GB free"
    if free_gb < _FREE_DISK_WARN_GB:
        return Finding("data directory", State.WARNING, says, "Free some space or move LOCKSTEP_DATA.")
    return Finding("data directory", State.OK, says)


def exposure_finding() -> Finding:
    """Who may reach the site, and how."""
    if settings.DEBUG:
        mend = "Unset DEBUG: error pages show settings and source to everyone."
        return Finding("exposure", State.WARNING, "DEBUG is on", mend)
    if settings.LOCKSTEP_LOCAL or (not settings.ALLOWED_HOSTS and is_running(settings.LOCKSTEP_DATA)):
        return Finding("exposure", State.OK, "this machine only, plain HTTP on the loopback address")
    if not settings.HTTPS:
        mend = "Unset LOCKSTEP_HTTPS, and end TLS at a proxy in front."
        return Finding(
            "exposure", State.WARNING, "plain HTTP: passwords and tokens cross the network open", mend
        )
    if not settings.ALLOWED_HOSTS:
        mend = "Set ALLOWED_HOSTS to the names people type, separated by commas."
        return Finding("exposure", State.BROKEN, "ALLOWED_HOSTS is empty: every request is refused", mend)
    return Finding("exposure", State.OK, f"HTTPS, hosts {', '.join(settings.ALLOWED_HOSTS)}")


LIMITS: dict[Mode, tuple[str, ...]] = {
    Mode.EMBEDDED: (
        "One machine: web server, worker and database share its cores.",
        "SQLite lets one writer in at a time; the rest wait up to 20 s.",
        "Pages learn of a change within a second, and tasks start within a tenth of one.",
        "Rate limits are counted per web process.",
        "To leave it: DATABASE_URL (PostgreSQL), REDIS_URL, LOCKSTEP_SECRET_KEY and ALLOWED_HOSTS.",
    ),
    Mode.SERVER: (
        "Any number of web processes and workers; one ticks at a time, another takes over within seconds.",
        "Exactly one beat: `celery -A cluster.celery beat`, or --beat on a single worker.",
        "Redis carries hints only: the truth is in the database, and nothing is lost when Redis restarts.",
    ),
}


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
