"""A database for the time of a measurement, on the engine that is configured, and never the user's own."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.db import connection
from django.test.utils import override_settings

LOCAL = {
    "LOCKSTEP_ENGINE": "simulated",
    "REDIS_URL": "",
    "CACHES": {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "bench"}},
    "ALLOWED_HOSTS": ["testserver"],
    "SECURE_SSL_REDIRECT": False,
}


@contextmanager
def throwaway_database() -> Iterator[str]:
    """Gives the engine's name; everything written meanwhile goes to a fresh database, gone afterwards."""
    configured = connection.settings_dict["NAME"]
    with tempfile.TemporaryDirectory(prefix="lockstep-bench-") as folder, override_settings(**LOCAL):
        name = f"lockstep_bench_{os.getpid()}"
        if connection.vendor == "sqlite":
            name = str(Path(folder) / f"{name}.sqlite3")  # a file, as in production: memory would flatter
        connection.settings_dict["TEST"]["NAME"] = name
        connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
        try:
            yield connection.display_name
        finally:
            connection.creation.destroy_test_db(configured, verbosity=0)
