"""Two workers, one lease, real commits on a real database: one ticks, and the late one does no harm."""

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from cluster.engines.registry import get_engine
from cluster.engines.simulated import SimulatedEngine, start_clock
from cluster.models import JobState, Run, RunState, SimulatedGang, Tick, TickLease
from cluster.pipeline import carry_out as carrying
from cluster.pipeline import tick as ticking
from cluster.pipeline.tick import run_tick
from cluster.services.cancel_job import cancel_job
from tests.pipeline.audit import AuditedCluster, audit

WAIT_S = 60.0


@pytest.fixture
def tiny(transactional_db) -> AuditedCluster:
    return AuditedCluster()


@pytest.fixture
def crowd(tiny):
    return tiny.tenant("crowd", gpus=128)


class Worker(threading.Thread):
    """A worker of its own, with its own connection; `join_or_fail` raises what it raised."""

    def __init__(self, name: str, work: Callable[[], object]) -> None:
        super().__init__(name=name, daemon=True)
        self.work, self.result, self.error = work, None, None

    def run(self) -> None:
        try:
            self.result = self.work()
        except BaseException as error:
            self.error = error
        finally:
            connection.close()

    def join_or_fail(self) -> object:
        self.join(WAIT_S)
        assert not self.is_alive(), f"{self.name} hangs"
        if self.error is not None:
            raise self.error
        return self.result


class Stall:
    """Holds the thread named `slow` up at one place until it is let go."""

    def __init__(self) -> None:
        self.reached, self.go_on = threading.Event(), threading.Event()

    def at(self, patch: pytest.MonkeyPatch, module: object, name: str, *, before: bool = False) -> None:
        real = getattr(module, name)

        def stalling(*args, **kwargs):
            if before:
                self._wait()
            result = real(*args, **kwargs)
            if not before:
                self._wait()
            return result

        patch.setattr(module, name, stalling)

    def _wait(self) -> None:
        if threading.current_thread().name == "slow":
            self.reached.set()
            assert self.go_on.wait(WAIT_S)


@pytest.fixture
def stall() -> Iterator[Stall]:
    stall = Stall()
    yield stall
    stall.go_on.set()


def slow_tick() -> Worker:
    worker = Worker("slow", lambda: run_tick(get_engine(), holder="slow"))
    worker.start()
    return worker


def fast_tick() -> Tick | None:
    return run_tick(get_engine(), holder="fast")


def lease_runs_out() -> None:
    TickLease.objects.update(expires_at=timezone.now() - timedelta(seconds=1))


def test_while_one_ticks_the_other_does_not(tiny, crowd, stall, monkeypatch):
    tiny.submit(crowd, gpus=64)
    stall.at(monkeypatch, ticking, "plan_jointly")
    slow = slow_tick()
    assert stall.reached.wait(WAIT_S)

    assert fast_tick() is None
    stall.go_on.set()
    assert slow.join_or_fail() is not None
    assert fast_tick() is not None
    audit()


@pytest.mark.parametrize("step", ["observe", "plan_jointly"])
def test_what_a_late_worker_has_planned_is_refused_whole(tiny, crowd, stall, monkeypatch, step):
    jobs = [tiny.submit(crowd, gpus=32) for _ in range(3)]
    stall.at(monkeypatch, ticking, step)
    slow = slow_tick()
    assert stall.reached.wait(WAIT_S)
    lease_runs_out()
    assert fast_tick() is not None
    cancel_job(by=tiny.owner, job=jobs[0])
    stall.go_on.set()

    assert slow.join_or_fail() is None
    assert Tick.objects.count() == 1, "the late one has left no tick"
    assert Run.objects.count() == 2
    audit()
    tiny.advance(120)
    tiny.advance(120)
    assert sorted(tiny.fresh(job).state for job in jobs) == ["active", "active", "cancelled"]


@pytest.mark.parametrize("before", [True, False])
def test_a_late_worker_that_has_applied_its_plan_starts_nothing_twice(
    tiny, crowd, stall, monkeypatch, before
):
    jobs = [tiny.submit(crowd, gpus=16) for _ in range(4)]
    stall.at(monkeypatch, ticking, "carry_out", before=before)
    slow = slow_tick()
    assert stall.reached.wait(WAIT_S)
    lease_runs_out()
    assert fast_tick() is not None
    assert SimulatedGang.objects.count() == 4
    stall.go_on.set()
    assert slow.join_or_fail().number == 1

    assert SimulatedGang.objects.count() == 4
    assert fast_tick() is not None, "a late worker does not give back a lease that is another's"
    tiny.advance(120)
    assert all(tiny.run_of(job).state == RunState.RUNNING for job in jobs)


def test_a_launch_that_arrives_when_its_gpus_are_anothers_starts_nothing(tiny, crowd, stall, monkeypatch):
    """Decided by one, delayed on its way, stopped and given to another job by the next."""
    late = tiny.submit(crowd, gpus=64)
    stall.at(monkeypatch, carrying, "launch_spec")  # it holds the order in its hands, and goes to sleep
    slow = slow_tick()
    assert stall.reached.wait(WAIT_S)
    cancel_job(by=tiny.owner, job=late)
    other = tiny.submit(crowd, gpus=64)
    for _ in range(3):
        lease_runs_out()
        tiny.move(10)
        assert fast_tick() is not None
    assert tiny.fresh(late).state == JobState.CANCELLED and tiny.fresh(other).state == JobState.ACTIVE
    stall.go_on.set()
    slow.join_or_fail()

    assert SimulatedGang.objects.exclude(nodes={}).count() == 1
    tiny.advance(120)
    assert tiny.run_of(other).state == RunState.RUNNING


def test_workers_that_compete_while_people_act_keep_every_promise(tiny, crowd):
    """Three workers at once on a clock that runs, with leases that run out under their feet."""
    jobs = [
        tiny.submit(crowd, gpus=8 * (1 + n % 3), expected_duration_s=300 + 60 * n, tier=tier, grace_s=60)
        for n, tier in enumerate(["best_effort", "research", "production"] * 6)
    ]
    tiny.tick()
    start_clock(200.0)
    workers = [Worker(f"worker {n}", lambda n=n: _tick_often(f"worker {n}")) for n in range(3)]
    for worker in workers:
        worker.start()
    for job in jobs[::5]:
        lease_runs_out()
        job.refresh_from_db()
        if not job.is_over:
            cancel_job(by=tiny.owner, job=job)
    ticks = [worker.join_or_fail() for worker in workers]

    tiny.now = SimulatedEngine().now()
    tiny._pin()
    tiny.tick()
    fences = list(Tick.objects.order_by("number").values_list("fence", flat=True))
    assert fences == sorted(set(fences)), "every tick under a lease of its own, in order"
    assert len(fences) >= sum(ticks) + 2
    tiny.advance(14_400, every_s=1200)
    assert all(tiny.fresh(job).is_over for job in jobs)
    assert {job.state for job in jobs} <= {JobState.COMPLETED, JobState.CANCELLED}


def _tick_often(holder: str) -> int:
    """How many of its ticks went through."""
    return sum(run_tick(get_engine(), holder=holder) is not None for _ in range(8))
