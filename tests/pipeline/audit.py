"""What must hold after every tick, whatever has happened: asked of every story in this directory."""

from collections import Counter
from datetime import timedelta
from typing import Any

from django.db.models import Count, Q

from cluster.engines.contract import EnginePhase
from cluster.engines.simulated import SimulatedEngine
from cluster.models import (
    Allocation,
    Decision,
    Job,
    JobState,
    Run,
    RunState,
    SimulatedGang,
    Tick,
    UsageInterval,
)
from cluster.pipeline.recount import drifts
from cluster.pipeline.tick import run_tick
from fleet.models import Gpu
from tests.factories import T0, TinyCluster

MICROSECOND = timedelta(microseconds=1)


class AuditedCluster(TinyCluster):
    """A tiny cluster that is audited after every tick."""

    def tick(self) -> Tick:
        tick = super().tick()
        audit()
        return tick

    def tick_with(self, engine: Any) -> Tick:
        """One tick with another engine than the plain one."""
        self._pin()
        tick = run_tick(engine)
        audit()
        return tick

    def move(self, seconds: float) -> None:
        """Let time pass without a tick."""
        self.now += timedelta(seconds=seconds)
        self._pin()


def audit() -> None:
    assert_gangs_are_whole()
    assert_jobs_are_kept()
    assert_every_pending_job_has_one_decision()
    assert_no_gpu_works_twice()
    assert_usage_is_exact()


def assert_gangs_are_whole() -> None:
    """Open runs hold the whole gang, ended ones nothing; no GPU is held twice (the database says so, too)."""
    held = Counter(Allocation.objects.filter(released_at=None).values_list("run_id", flat=True))
    for run in Run.objects.select_related("job"):
        expected = 0 if run.state == RunState.ENDED else run.job.gpus
        assert held[run.pk] == expected, f"{run} ({run.state}) holds {held[run.pk]}, not {expected}"
    twice = Allocation.objects.filter(released_at=None).values("gpu").annotate(n=Count("id")).filter(n__gt=1)
    assert not twice.exists()


def assert_jobs_are_kept() -> None:
    """An active job has exactly one open run, every other none: none is lost and none is doubled."""
    open_runs = Count("runs", filter=~Q(runs__state=RunState.ENDED))
    for job in Job.objects.annotate(open_runs=open_runs):
        expected = 1 if job.state == JobState.ACTIVE else 0
        assert job.open_runs == expected, f"{job} is {job.state} with {job.open_runs} open runs"
        assert job.is_over == (job.ended_at is not None)


def assert_every_pending_job_has_one_decision() -> None:
    open_now = Decision.objects.filter(superseded_at=None, job__state=JobState.PENDING)
    decided = Counter(open_now.filter(outcome="hold").values_list("job_id", flat=True))
    pending = set(Job.objects.filter(state=JobState.PENDING).values_list("pk", flat=True))
    assert dict(decided) == dict.fromkeys(pending, 1)
    for decision in open_now:
        assert any(not verdict["ok"] for verdict in decision.verdicts), "a hold without a reason"


def assert_no_gpu_works_twice() -> None:
    """What the engine really runs on a node is never more than the node has, whatever our books say."""
    engine, running = SimulatedEngine(), Counter()
    gangs = {str(gang.launch_key): gang for gang in SimulatedGang.objects.all()}
    for seen in engine.observe(list(gangs)):
        if seen.phase is not EnginePhase.ENDED:
            running.update(gangs[seen.launch_key].nodes)
    installed = Counter(Gpu.objects.values_list("node__name", flat=True))
    assert all(gpus <= installed[node] for node, gpus in running.items())


def assert_usage_is_exact() -> None:
    """Open rows sum to the installed GPUs, GPU-seconds to installed × window, and both counts agree."""
    installed = Gpu.objects.count()
    rows = list(UsageInterval.objects.all())
    assert sum(row.gpus for row in rows if row.ended_at is None) == installed
    first, last = Tick.objects.order_by("number").first(), Tick.objects.order_by("-number").first()
    assert gpu_microseconds(rows, until=last.now) == installed * ((last.now - first.now) // MICROSECOND)
    assert [str(drift) for drift in drifts(since=T0)] == []


def gpu_microseconds(rows, until) -> int:
    return sum(
        row.gpus * ((min(row.ended_at or until, until) - row.started_at) // MICROSECOND) for row in rows
    )
