"""`manage.py up` starts two programs and answers for both: nothing it started outlives it."""

import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from cluster.supervisor import address
from cluster.supervisor.child import Program
from cluster.supervisor.group import ChildDied, Group, NotAnswering
from cluster.supervisor.lock import AlreadyRunning, is_running, sole_runner

ROOT = Path(__file__).resolve().parents[2]


def program(name: str, code: str, directory: Path) -> Program:
    return Program(name, (sys.executable, "-c", textwrap.dedent(code)), directory / f"{name}.log")


def is_alive(pid: int) -> bool:
    """Zombies count as ended: in a container nobody may be there to bury them."""
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False


def eventually(is_so, within_s: float = 10.0) -> bool:
    deadline = time.monotonic() + within_s
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.05)
    return bool(is_so())


SLEEP = "import time; time.sleep(60)"
WITH_GRANDCHILD = """
    import subprocess, sys, time
    inner = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    print(inner.pid, flush=True)
    time.sleep(60)
"""
STUBBORN = """
    import signal, time
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("deaf", flush=True)
    time.sleep(60)
"""


def test_a_signal_stops_every_program(tmp_path):
    group = Group([program("a", SLEEP, tmp_path), program("b", SLEEP, tmp_path)], ROOT)
    with group.running():
        pids = [child.pid for child in group._children]
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM)).start()
        group.wait()
    assert not any(is_alive(pid) for pid in pids)


def test_what_a_program_started_itself_does_not_outlive_it(tmp_path):
    nest = program("nest", WITH_GRANDCHILD, tmp_path)
    with Group([nest], ROOT).running():
        assert eventually(lambda: nest.log.read_text().strip())
        grandchild = int(nest.log.read_text())
    assert eventually(lambda: not is_alive(grandchild))


def test_a_program_that_ignores_the_request_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr("cluster.supervisor.group.STOP_WITHIN_S", 0.5)
    deaf = program("deaf", STUBBORN, tmp_path)
    group = Group([deaf], ROOT)
    with group.running():
        assert eventually(lambda: "deaf" in deaf.log.read_text())
    assert group._children[0].exit_code == -signal.SIGKILL


def test_when_one_dies_the_other_is_stopped_and_the_reason_is_at_hand(tmp_path):
    dies = program("worker", "import sys; print('no room'); sys.exit(3)", tmp_path)
    group = Group([program("web", SLEEP, tmp_path), dies], ROOT)
    with pytest.raises(ChildDied, match="the worker process ended with code 3") as caught, group.running():
        group.wait()
    assert caught.value.child.log_tail() == "no room"
    assert group._children[0].exit_code is not None


def test_a_page_that_never_answers_is_given_up(tmp_path):
    group = Group([program("web", SLEEP, tmp_path)], ROOT)
    with pytest.raises(NotAnswering, match="the page did not answer within 0 s"), group.running():
        group.wait_until(lambda: False, what="the page did not answer", within_s=0.3)


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux: PR_SET_PDEATHSIG")
def test_programs_end_when_the_supervisor_is_killed_outright(tmp_path):
    code = f"""
        import sys
        from pathlib import Path
        from cluster.supervisor.child import Child, Program
        child = Child(
            Program("a", (sys.executable, "-c", "import time; print('up', flush=True); time.sleep(60)"),
                    Path({str(tmp_path / "a.log")!r})),
            directory=Path({str(ROOT)!r}),
        )
        print(child.pid, flush=True)
        child.wait(1e12)
    """
    supervisor = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    pid = int(supervisor.stdout.readline())
    assert eventually(lambda: "up" in (tmp_path / "a.log").read_text())
    supervisor.kill()
    supervisor.wait()
    assert eventually(lambda: not is_alive(pid))


def test_a_data_directory_has_one_runner(tmp_path):
    assert not is_running(tmp_path)
    with sole_runner(tmp_path):
        assert is_running(tmp_path)
        with pytest.raises(AlreadyRunning, match=str(os.getpid())), sole_runner(tmp_path):
            pass
    assert not is_running(tmp_path)


def test_a_taken_port_is_noticed_before_anything_starts():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert not address.is_free("127.0.0.1", port)
    assert address.is_free("127.0.0.1", port)
