"""`manage.py doctor` names what is missing and the mend; its exit code is for scripts."""

from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import OperationalError, connection
from django.utils import timezone

from cluster.deployment import Mode
from cluster.models import Tick
from cluster.selectors import doctor
from cluster.selectors.doctor import State, examine, worker_finding
from cluster.supervisor.lock import sole_runner

pytestmark = pytest.mark.django_db


def tick(seconds_ago: float) -> None:
    now = timezone.now()
    Tick.objects.create(number=1, fence=1, now=now, wall_at=now - timedelta(seconds=seconds_ago))


def findings():
    return {finding.subject: finding for finding in examine().findings}


def test_a_sound_installation_has_nothing_broken(tmp_path, settings):
    settings.LOCKSTEP_DATA = tmp_path
    tick(seconds_ago=1)
    with sole_runner(tmp_path):
        report = examine()
    assert [f for f in report.findings if f.state is State.BROKEN] == []
    assert report.mode is settings.LOCKSTEP_MODE and report.limits


def test_a_worker_that_fell_silent_is_broken(tmp_path, settings):
    settings.LOCKSTEP_DATA = tmp_path
    tick(seconds_ago=600)
    with sole_runner(tmp_path):
        found = worker_finding(timezone.now())
    assert found.state is State.BROKEN
    assert "the last tick is 10 min old" in found.says and "celery" in found.mend


@pytest.mark.skipif(settings.LOCKSTEP_MODE is Mode.SERVER, reason="embedded mode only: unset REDIS_URL")
def test_an_installation_that_is_not_up_is_no_fault(tmp_path, settings):
    settings.LOCKSTEP_DATA = tmp_path
    found = worker_finding(timezone.now())
    assert (found.state, found.mend) == (State.WARNING, "make up")


def test_a_database_that_is_away_is_named_without_its_password(monkeypatch):
    def away():
        raise OperationalError("connection refused\nIs the server running?")

    monkeypatch.setattr(connection, "cursor", away)
    monkeypatch.setitem(connection.settings_dict, "PASSWORD", "geheim")
    report = examine()
    broken = {f.subject: f for f in report.findings if f.state is State.BROKEN}
    assert "connection refused" in broken["database"].says and "DATABASE_URL" in broken["database"].mend
    assert "geheim" not in repr(report)


def test_redis_that_does_not_answer_is_named_with_the_mend(settings):
    settings.LOCKSTEP_MODE, settings.REDIS_URL = Mode.SERVER, "redis://127.0.0.1:1/0"
    found = findings()
    assert found["broker"].state is found["live updates"].state is State.BROKEN
    assert "REDIS_URL" in found["broker"].mend


def test_static_files_that_were_never_collected_are_noticed(settings, tmp_path):
    settings.WHITENOISE_USE_FINDERS, settings.STATIC_ROOT = False, str(tmp_path)
    assert "collectstatic" in doctor.static_finding().mend


def test_the_exit_code_tells_scripts(settings):
    settings.LOCKSTEP_MODE, settings.REDIS_URL = Mode.SERVER, "redis://127.0.0.1:1/0"
    shown = StringIO()
    with pytest.raises(SystemExit, match="1"):
        call_command("doctor", stdout=shown, no_color=True)
    assert "BROKEN" in shown.getvalue() and "Mend: Start Redis" in shown.getvalue()


def test_debug_is_called_a_danger(settings):
    settings.DEBUG = True
    assert doctor.exposure_finding().state is State.WARNING


def test_a_broker_directory_that_is_gone_is_broken(settings, tmp_path):
    settings.LOCKSTEP_MODE = Mode.EMBEDDED
    settings.CELERY_BROKER_TRANSPORT_OPTIONS = {"data_folder_in": str(Path(tmp_path) / "gone/queue")}
    assert doctor.broker_finding().state is State.BROKEN
