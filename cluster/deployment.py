"""What the environment says about this installation: its mode, data directory and secret key.

Embedded mode needs nothing: SQLite, an in-memory channel layer and a broker of files, on one machine.
Server mode begins where `REDIS_URL` is given: any number of web processes and workers.
"""

import os
import secrets
from enum import StrEnum
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured


class Mode(StrEnum):
    EMBEDDED = "embedded"
    SERVER = "server"


def mode_of(redis_url: str) -> Mode:
    return Mode.SERVER if redis_url else Mode.EMBEDDED


def data_directory(configured: str, base: Path) -> Path:
    """The directory of everything Lockstep writes; created with access for its owner only."""
    directory = Path(configured).expanduser().absolute() if configured else base / ".lockstep"
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(
            f"LOCKSTEP_DATA={directory} cannot be created ({error.strerror}): name one you may write to."
        ) from error
    return directory


def secret_key(configured: str, data: Path, *, local: bool) -> str:
    """The signing key: the one given, else the one kept in the data directory.

    It is generated on first use only where the site serves this machine alone: several hosts must share one
    key, so a server that has none stops with an error instead of inventing its own.
    """
    if configured:
        return configured
    kept = data / "secret_key"
    if not kept.exists():
        if not local:
            raise ImproperlyConfigured(
                "LOCKSTEP_SECRET_KEY is not set: in server mode every host needs the same secret key. "
                "Make one with `python3 -c 'import secrets; print(secrets.token_urlsafe(64))'`."
            )
        _write_once(kept, secrets.token_urlsafe(64))
    return kept.read_text().strip()


def _write_once(path: Path, text: str) -> None:
    """Another process may start at the same moment: link() lets one win, and nobody reads half a key."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()


def database(parsed: dict[str, Any]) -> dict[str, Any]:
    """Django's database settings with what each engine needs under ASGI and many writers."""
    options = dict(parsed.get("OPTIONS", {}))
    if parsed["ENGINE"].endswith("sqlite3"):
        # IMMEDIATE takes the write lock at BEGIN: a transaction that reads first and writes later would
        # otherwise fail at once when another writer came between, whatever the time-out.
        options |= {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA busy_timeout=20000;",
        }
    elif parsed["ENGINE"].endswith("postgresql"):
        # Persistent connections leak under ASGI (one per thread); the pool is bounded.
        options.setdefault("pool", {"min_size": 1, "max_size": 10, "timeout": 20})
    else:
        raise ImproperlyConfigured(
            f"DATABASE_URL names the engine {parsed['ENGINE']}: use sqlite:///FILE or postgres://USER@HOST/NAME."
        )
    return {**parsed, "OPTIONS": options, "CONN_MAX_AGE": 0}
