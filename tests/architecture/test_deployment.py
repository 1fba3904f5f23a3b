"""A server installation is secure unless told otherwise, and says plainly what it lacks."""

import os
import secrets
import stat
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

ROOT = Path(__file__).resolve().parents[2]
REDIS = "redis://127.0.0.1:6379/0"  # named, not reached: the checks connect to nothing


def manage(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {key: os.environ[key] for key in ("PATH", "HOME", "LANG") if key in os.environ}
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={**kept, **environment},
        text=True,
        capture_output=True,
    )


@pytest.fixture
def server(tmp_path):
    return {
        "REDIS_URL": REDIS,
        "DATABASE_URL": "postgres://lockstep@127.0.0.1/lockstep",
        "LOCKSTEP_SECRET_KEY": secrets.token_urlsafe(64),
        "ALLOWED_HOSTS": "lockstep.example",
        "LOCKSTEP_DATA": str(tmp_path),
    }


def test_the_checks_for_deployment_are_clean_in_server_mode(server):
    found = manage("check", "--deploy", "--fail-level", "WARNING", **server)
    assert found.returncode == 0, found.stderr


def test_a_server_without_a_secret_key_does_not_start(server):
    found = manage("check", **{**server, "LOCKSTEP_SECRET_KEY": ""})
    assert found.returncode != 0
    assert "LOCKSTEP_SECRET_KEY is not set" in found.stderr
    assert "Traceback" not in found.stderr


def test_an_embedded_installation_makes_its_key_once_and_keeps_it_to_itself(tmp_path):
    show = ("shell", "-v0", "-c", "from django.conf import settings; print(settings.SECRET_KEY)")
    first, again = (manage(*show, LOCKSTEP_DATA=str(tmp_path)).stdout for _ in range(2))
    assert first == again and len(first.strip()) > 50
    assert stat.S_IMODE((tmp_path / "secret_key").stat().st_mode) == 0o600


def test_a_database_of_another_kind_is_refused_by_name(tmp_path):
    found = manage("check", LOCKSTEP_DATA=str(tmp_path), DATABASE_URL="mysql://root@127.0.0.1/lockstep")
    assert "DATABASE_URL names the engine" in found.stderr and "sqlite:///FILE" in found.stderr


@pytest.mark.django_db
def test_no_migration_is_missing():
    shown = StringIO()
    try:
        call_command("makemigrations", "--check", "--dry-run", stdout=shown)
    except SystemExit:
        pytest.fail(shown.getvalue())
