"""Settings of the test suite: the real ones, with a data directory of its own and a cheap password hash.

`DATABASE_URL` and `REDIS_URL` are honoured: the same suite runs on SQLite and on PostgreSQL with Redis.
"""

import os
import tempfile
from pathlib import Path

_data = Path(tempfile.gettempdir()) / f"lockstep-tests-{os.getuid()}"
os.environ["LOCKSTEP_DATA"] = os.environ.get("LOCKSTEP_TEST_DATA", str(_data))
os.environ.setdefault("LOCKSTEP_LOCAL", "1")

from cluster.settings import *  # noqa: E402, F403
from cluster.settings import ALLOWED_HOSTS, DATABASES, LOCKSTEP_DATA, REST_FRAMEWORK  # noqa: E402

if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # A file, not memory: threads, processes and WAL then behave as in production.
    DATABASES["default"]["TEST"] = {"NAME": str(LOCKSTEP_DATA / f"test-{os.getppid()}.sqlite3")}
ALLOWED_HOSTS += ["testserver"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
AXES_ENABLED = False  # client.login() has no request; the tests of the rate limit turn it on
REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"] = {"anon": None, "user": None}
