"""`manage.py up` refuses what cannot work before it touches anything, and names the mend."""

import socket

import pytest
from django.core.management import CommandError, call_command

from cluster.management.commands import up
from cluster.supervisor.lock import sole_runner


@pytest.fixture(autouse=True)
def own_data(tmp_path, settings, monkeypatch):
    settings.LOCKSTEP_DATA = tmp_path
    monkeypatch.setenv("LOCKSTEP_DATA", str(tmp_path))


def test_a_taken_port_is_named_with_another_to_take():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(CommandError, match=f"PORT={port} is taken.*make up PORT={port + 1}"):
            call_command("up", port=port)


def test_a_second_one_on_the_same_data_is_refused(tmp_path):
    with sole_runner(tmp_path), pytest.raises(CommandError, match="already up.*LOCKSTEP_DATA"):
        call_command("up")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"trace": "/no/such/trace.csv"}, "TRACE=/no/such/trace.csv is not a file"),
        ({"speed": 0.0}, "SPEED=0 is out of range"),
        ({"port": 70_000}, "PORT=70000 is out of range"),
    ],
)
def test_a_value_that_cannot_be_is_refused_by_name(options, named):
    with pytest.raises(CommandError, match=named):
        call_command("up", **options)


def test_a_trace_gets_a_data_directory_of_its_own(tmp_path, monkeypatch, settings):
    settings.LOCKSTEP_DATA = tmp_path / ".lockstep"
    monkeypatch.delenv("LOCKSTEP_DATA")
    monkeypatch.delenv("DATABASE_URL", raising=False)
    begun = []
    monkeypatch.setattr(up.os, "execv", lambda *arguments: begun.append(up.os.environ["LOCKSTEP_DATA"]))
    up._give_each_trace_its_own_data("/somewhere/philly.csv.gz")
    assert begun == [str(tmp_path / ".lockstep/traces/philly")]
    monkeypatch.delenv("LOCKSTEP_DATA")


def test_a_caller_who_chose_the_directory_keeps_it(monkeypatch):
    monkeypatch.setattr(up.os, "execv", lambda *arguments: pytest.fail("started anew"))
    up._give_each_trace_its_own_data("/somewhere/philly.csv")
