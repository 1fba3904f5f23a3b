"""A job from submission to its end, one step after the other through the real loop."""

from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError

from cluster.models import (
    Allocation,
    Checkpoint,
    Decision,
    Event,
    JobState,
    Outcome,
    RunOutcome,
    RunState,
    SimulatedGang,
)
from cluster.scheduler.verdict import Verdict, binding
from cluster.services.cancel_job import cancel_job
from cluster.services.hold_job import hold_job, release_job


def reason(job) -> str:
    decision = Decision.objects.get(job=job, superseded_at=None)
    return binding([Verdict.from_json(v) for v in decision.verdicts]).constraint


def kinds(job) -> list[str]:
    return list(Event.objects.filter(job=job).values_list("kind", flat=True))


def test_a_job_waits_with_its_reason_starts_runs_saves_and_completes(tiny):
    everybody = tiny.tenant("everybody", gpus=128)
    ahead = tiny.running(everybody, gpus=64, expected_duration_s=1800)
    job = tiny.submit(everybody, gpus=32, expected_duration_s=3600, checkpoint_interval_s=600)
    tiny.tick()
    assert tiny.fresh(job).state == JobState.PENDING and reason(job) == "gang_size"

    tiny.advance(1800)
    assert tiny.fresh(ahead).state == JobState.COMPLETED
    assert tiny.fresh(job).state == JobState.ACTIVE
    run = tiny.run_of(job)
    assert run.state == RunState.STARTING and run.allocations.count() == 32

    tiny.advance(120)
    assert tiny.fresh(run).state == RunState.RUNNING and run.ready_at is not None
    tiny.advance(1300, every_s=60)
    kept = list(Checkpoint.objects.filter(run=run).values_list("progress_s", flat=True))
    assert kept == [600.0, 1200.0] and tiny.fresh(job).progress_s == 1200.0

    tiny.advance(3600, every_s=600)
    assert tiny.fresh(job).state == JobState.COMPLETED
    assert (tiny.fresh(run).outcome, run.exit_code, run.lost_s) == (RunOutcome.COMPLETED, 0, 0.0)
    assert kinds(job) == ["job.submitted", "job.held", "job.started", "job.running", "job.completed"]
    assert [d.outcome for d in job.decisions.order_by("id")] == [Outcome.HOLD, Outcome.START]


def test_a_run_ends_when_its_work_was_done_not_when_we_looked(lab):
    job = lab.tiny.running(lab.vision, gpus=8, expected_duration_s=600)
    run = lab.tiny.run_of(job)
    lab.tiny.advance(7200)

    run = lab.tiny.fresh(run)
    assert (run.ended_at - run.ready_at).total_seconds() == 600
    assert set(Allocation.objects.filter(run=run).values_list("released_at", flat=True)) == {run.ended_at}


def test_a_job_that_fails_by_itself_is_over(lab):
    job = lab.tiny.running(lab.vision, gpus=8, workload={"fail_after_s": 300})
    run = lab.tiny.run_of(job)
    lab.tiny.advance(600)

    assert lab.tiny.fresh(job).state == JobState.FAILED
    assert job.state_reason == "it failed by itself"
    assert (lab.tiny.fresh(run).outcome, run.exit_code) == (RunOutcome.FAILED, 1)


def test_a_workload_that_the_engine_refuses_fails_its_job_alone(lab):
    broken = lab.tiny.submit(lab.vision, gpus=8, workload={"work_s": "two hours"})
    sound = lab.tiny.submit(lab.speech, gpus=8)
    lab.tiny.tick()
    lab.tiny.advance(120)

    assert lab.tiny.fresh(broken).state == JobState.FAILED
    assert "workload.work_s is 'two hours'" in broken.state_reason
    assert broken.retries == 0
    assert lab.tiny.run_of(sound).state == RunState.RUNNING


def test_the_time_limit_stops_a_run_by_contract_and_ends_the_job(lab):
    job = lab.tiny.running(lab.vision, gpus=8, time_limit_s=1000, checkpoint_cost_s=30)
    run = lab.tiny.run_of(job)
    lab.tiny.advance(960, every_s=60)
    assert lab.tiny.fresh(run).state == RunState.STOPPING

    lab.tiny.advance(60)

    assert lab.tiny.fresh(job).state == JobState.FAILED and job.state_reason == "it reached its time limit"
    assert lab.tiny.fresh(run).outcome == RunOutcome.TIME_LIMIT
    assert run.lost_s == 0.0, "it had its grace window to save"


def test_cancelling_a_pending_job_takes_it_out_at_once(lab):
    lab.tiny.running(lab.vision, gpus=64)
    job = lab.tiny.submit(lab.vision, gpus=64)
    lab.tiny.tick()
    cancel_job(by=lab.tiny.owner, job=job)

    assert lab.tiny.fresh(job).state == JobState.CANCELLED
    assert not Decision.objects.filter(job=job, superseded_at=None).exists()
    lab.tiny.tick()
    with pytest.raises(ValidationError, match="nothing to cancel"):
        cancel_job(by=lab.tiny.owner, job=job)


def test_cancelling_a_running_job_lets_it_save_first(lab):
    job = lab.tiny.running(lab.vision, gpus=8, checkpoint_cost_s=60, grace_s=300)
    run = lab.tiny.run_of(job)
    cancel_job(by=lab.tiny.owner, job=job)
    assert lab.tiny.fresh(run).state == RunState.STOPPING and lab.tiny.fresh(job).state == JobState.ACTIVE
    lab.tiny.tick()
    lab.tiny.advance(30)
    assert Allocation.objects.filter(run=run, released_at=None).count() == 8, "asked is not gone"

    lab.tiny.advance(30)

    assert lab.tiny.fresh(job).state == JobState.CANCELLED
    assert lab.tiny.fresh(run).outcome == RunOutcome.CANCELLED
    assert Checkpoint.objects.filter(run=run).count() == 1


def test_a_window_is_cut_to_the_policys_longest_whoever_asks(lab):
    job = lab.tiny.running(lab.vision, gpus=8, grace_s=86_400, checkpoint_on_signal=False)
    run = lab.tiny.run_of(job)
    cancel_job(by=lab.tiny.owner, job=job)
    lab.tiny.tick()

    assert (lab.tiny.fresh(run).grace_until - run.stop_requested_at).total_seconds() == 600


def test_cancelling_before_the_launch_starts_nothing(lab, monkeypatch):
    job = lab.tiny.submit(lab.vision, gpus=8)
    with monkeypatch.context() as broken:
        broken.setattr("cluster.pipeline.tick.carry_out", lambda engine: False)
        lab.tiny.tick()
    assert lab.tiny.run_of(job).launched_at is None
    cancel_job(by=lab.tiny.owner, job=job)

    lab.tiny.advance(10)
    lab.tiny.advance(10)

    assert lab.tiny.fresh(job).state == JobState.CANCELLED
    assert not SimulatedGang.objects.exclude(nodes={}).exists()


def test_a_job_on_hold_waits_says_so_and_keeps_its_age(lab):
    job = lab.tiny.submit(lab.vision, gpus=8)
    queued_at = job.queued_at
    hold_job(by=lab.tiny.owner, job=job, reason="licence")
    lab.tiny.tick()
    assert lab.tiny.fresh(job).state == JobState.PENDING and reason(job) == "admin_hold"

    lab.tiny.advance(3600)
    release_job(by=lab.tiny.owner, job=job)
    lab.tiny.tick()

    assert lab.tiny.fresh(job).state == JobState.ACTIVE and job.queued_at == queued_at


def test_a_job_before_its_start_time_waits_for_it(lab):
    job = lab.tiny.submit(lab.vision, gpus=8, not_before=lab.tiny.now + timedelta(hours=1))
    lab.tiny.tick()
    assert reason(job) == "start_time"
    lab.tiny.advance(3599)
    assert lab.tiny.fresh(job).state == JobState.PENDING

    lab.tiny.advance(1)

    assert lab.tiny.fresh(job).state == JobState.ACTIVE
