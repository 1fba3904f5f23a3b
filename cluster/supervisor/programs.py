"""The two programs of `manage.py up`: the web server and the Celery worker with its beat."""

import sys
from pathlib import Path

from cluster.supervisor.child import Program


def web(host: str, port: int, logs: Path) -> Program:
    command = (
        *(sys.executable, "-m", "uvicorn", "cluster.asgi:application"),
        *("--host", host, "--port", str(port), "--workers", "1"),
        *("--lifespan", "off", "--no-access-log", "--log-level", "warning"),
        *("--timeout-graceful-shutdown", "3"),
    )
    return Program("web", command, logs / "web.log")


def worker(logs: Path) -> Program:
    """Two pool processes: a long forecast must not keep a tick waiting."""
    command = (
        *(sys.executable, "-m", "celery", "-A", "cluster.celery", "worker"),
        *("--beat", "--scheduler", "celery.beat:Scheduler", "--concurrency", "2"),
        *("--without-gossip", "--without-mingle", "--loglevel", "INFO"),
    )
    return Program("worker", command, logs / "worker.log")
