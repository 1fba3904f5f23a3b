"""The preemption contract through the loop: signal, window, stop, requeue with its age, resume, receipt."""

from datetime import timedelta

import pytest

from cluster.engines.registry import get_engine
from cluster.models import (
    Allocation,
    Decision,
    JobState,
    Preemption,
    PreemptionRule,
    Reservation,
    RunOutcome,
    RunState,
)
from cluster.scheduler.verdict import Verdict, binding
from cluster.selectors.capacity import capacity_now
from cluster.services.cancel_job import cancel_job
from tests.contract.unreachable import UnreachableEngine

SAVES = {"checkpoint_cost_s": 60, "grace_s": 300}


@pytest.fixture
def crowd(tiny):
    """One tenant entitled to everything, so that only tiers count."""
    return tiny.tenant("crowd", gpus=128)


def held_by(run) -> int:
    return Allocation.objects.filter(run=run, released_at=None).count()


def binding_of(job) -> Verdict:
    decision = Decision.objects.get(job=job, superseded_at=None)
    return binding([Verdict.from_json(v) for v in decision.explanation.verdicts])


def test_a_higher_tier_preempts_by_contract_and_the_victim_comes_back(tiny, crowd):
    victim = tiny.running(
        crowd, gpus=64, tier="best_effort", expected_duration_s=7200, restart_cost_s=60, **SAVES
    )
    age = victim.queued_at
    tiny.advance(600)
    first = tiny.run_of(victim)
    urgent = tiny.submit(crowd, gpus=64, tier="production", expected_duration_s=900)
    tiny.tick()

    # signalled, not gone: the GPUs are still the victim's, and the preemptor says what it waits for
    assert tiny.fresh(first).state == RunState.STOPPING and held_by(first) == 64
    assert tiny.fresh(urgent).state == JobState.PENDING and binding_of(urgent).constraint == "draining"
    receipt = Preemption.objects.get()
    assert (receipt.victim, receipt.by_job, receipt.rule) == (first, urgent, PreemptionRule.TIER)
    assert receipt.deadline == tiny.now + timedelta(seconds=300)

    # it has saved and leaves early: its GPUs are given on at once
    tiny.advance(60)
    assert tiny.fresh(first).outcome == RunOutcome.PREEMPTED and first.lost_s == 0.0
    assert tiny.fresh(receipt).ended_at == tiny.now and receipt.lost_gpu_hours == pytest.approx(
        64 * 60 / 3600
    )
    assert tiny.fresh(urgent).state == JobState.ACTIVE
    assert (tiny.fresh(victim).state, victim.queued_at, victim.preemptions) == (JobState.PENDING, age, 1)

    # and it resumes where it had saved, as a new run of the same job
    tiny.advance(1200, every_s=300)
    second = tiny.run_of(victim)
    saved_s = (receipt.signalled_at - first.ready_at).total_seconds()
    assert second.number == 2 and second.resumed_from_s == pytest.approx(saved_s, abs=1e-3)
    tiny.advance(7200 - saved_s + 300, every_s=900)
    assert tiny.fresh(victim).state == JobState.COMPLETED


def test_work_since_the_last_checkpoint_is_lost_and_recorded(tiny, crowd):
    victim = tiny.running(
        crowd,
        gpus=64,
        tier="best_effort",
        checkpoint_on_signal=False,
        checkpoint_interval_s=500,
        checkpoint_cost_s=0,
        grace_s=120,
        restart_cost_s=0,
        expected_duration_s=7200,
    )
    run = tiny.run_of(victim)
    tiny.advance(1000, every_s=100)
    tiny.submit(crowd, gpus=64, tier="production")
    tiny.tick()
    tiny.advance(119)
    assert held_by(run) == 64
    tiny.advance(1)

    worked_s = (tiny.fresh(run).ended_at - run.ready_at).total_seconds()
    assert run.ended_at == tiny.now
    assert run.lost_s == pytest.approx(worked_s % 500, abs=1e-3)
    assert Preemption.objects.get().lost_gpu_hours == pytest.approx(64 * (worked_s % 500) / 3600)
    assert tiny.fresh(victim).progress_s == pytest.approx(worked_s - worked_s % 500)


def test_without_a_grace_window_the_gpus_are_still_the_victims_until_it_has_ended(tiny, crowd):
    victim = tiny.running(crowd, gpus=64, tier="best_effort", grace_s=0)
    run = tiny.run_of(victim)
    urgent = tiny.submit(crowd, gpus=64, tier="production")
    tiny.tick()
    assert held_by(run) == 64 and tiny.fresh(urgent).state == JobState.PENDING
    assert capacity_now().gpus["placeable"] == 0, "what is leaving is not free"
    tiny.tick()

    assert held_by(run) == 0 and tiny.fresh(urgent).state == JobState.ACTIVE


def test_a_job_that_completes_in_its_window_has_completed(tiny, crowd):
    victim = tiny.running(
        crowd, gpus=64, tier="best_effort", expected_duration_s=600, checkpoint_on_signal=False, grace_s=600
    )
    tiny.advance(400)
    tiny.submit(crowd, gpus=64, tier="production")
    tiny.tick()
    tiny.advance(300)

    assert tiny.fresh(victim).state == JobState.COMPLETED
    assert Preemption.objects.get().lost_gpu_hours == 0.0


def test_a_job_cancelled_in_its_window_is_not_requeued(tiny, crowd):
    victim = tiny.running(crowd, gpus=64, tier="best_effort", **SAVES)
    tiny.submit(crowd, gpus=64, tier="production")
    tiny.tick()
    cancel_job(by=tiny.owner, job=victim)
    tiny.advance(60)

    assert tiny.fresh(victim).state == JobState.CANCELLED


def test_a_cancelled_job_stays_cancelled_when_a_node_is_lost_on_its_way_out(tiny, crowd):
    job = tiny.running(crowd, gpus=64, checkpoint_on_signal=False, grace_s=600)
    run = tiny.run_of(job)
    cancel_job(by=tiny.owner, job=job)
    tiny.tick()
    tiny.move(60)
    tiny.lose("p1b1n1")
    tiny.advance(60)

    assert tiny.fresh(run).outcome == RunOutcome.NODE_FAILURE
    assert tiny.fresh(job).state == JobState.CANCELLED and job.retries == 0


def test_the_window_begins_when_the_signal_goes_out(tiny, crowd):
    victim = tiny.running(crowd, gpus=64, tier="best_effort", expected_duration_s=86_400, **SAVES)
    run = tiny.run_of(victim)
    urgent = tiny.submit(crowd, gpus=64, tier="production")
    tiny.tick_with(UnreachableEngine(get_engine(), answers_left=2))  # goes down before the signal is sent
    assert tiny.fresh(run).state == RunState.STOPPING and not run.stop_sent
    tiny.advance(3600)
    sent_at = tiny.now
    assert tiny.fresh(run).grace_until == sent_at + timedelta(seconds=300)
    assert Preemption.objects.get().deadline == run.grace_until

    tiny.advance(60)

    assert tiny.fresh(run).outcome == RunOutcome.PREEMPTED and run.lost_s == 0.0
    assert tiny.fresh(urgent).state == JobState.ACTIVE


def test_a_lender_gets_its_gpus_back_within_the_longest_grace(lab):
    tiny = lab.tiny
    tiny.running(lab.vision, gpus=32)
    loan = tiny.running(
        lab.vision, gpus=32, checkpoint_on_signal=False, grace_s=400, expected_duration_s=9000
    )
    tiny.advance(600)
    wish = tiny.submit(lab.speech, gpus=32)
    asked_at = tiny.now
    tiny.tick()
    assert Preemption.objects.get().rule == PreemptionRule.RECLAIM

    tiny.advance(400, every_s=50)

    assert tiny.fresh(wish).state == JobState.ACTIVE
    assert (tiny.now - asked_at).total_seconds() <= 400
    assert tiny.fresh(loan).state == JobState.PENDING
    assert loan.preemptions == 0, "a loan called back does not count as a preemption by a tier"


def test_backfill_gives_way_to_the_gang_it_ran_before(tiny, crowd):
    long = tiny.running(crowd, gpus=56, tier="production", expected_duration_s=2400)
    large = tiny.submit(crowd, gpus=64, expected_duration_s=3600)
    tiny.tick()
    tiny.advance(600, every_s=300)  # it has waited long enough to gather
    reservation = Reservation.objects.get(job=large, closed_at=None)
    filler = tiny.submit(crowd, gpus=8, expected_duration_s=86_400, **SAVES)
    tiny.tick()
    run = tiny.run_of(filler)
    assert run.is_backfill

    tiny.advance(1500)
    tiny.advance(420, every_s=30)

    assert tiny.fresh(long).state == JobState.COMPLETED
    assert Preemption.objects.get(victim=run).rule == PreemptionRule.BACKFILL_RETURN
    assert tiny.fresh(large).state == JobState.ACTIVE
    started_at = large.runs.get().planned_at
    assert started_at <= tiny.fresh(reservation).bound_at
    assert tiny.fresh(filler).state == JobState.PENDING and filler.progress_s > 0


def test_nobody_is_sent_away_for_a_job_that_was_withdrawn_meanwhile(tiny, crowd, monkeypatch):
    victim = tiny.running(crowd, gpus=64, tier="best_effort", **SAVES)
    urgent = tiny.submit(crowd, gpus=64, tier="production")
    from cluster.pipeline import tick as module

    def plan_slowly(world):
        decided = plan(world)
        cancel_job(by=tiny.owner, job=urgent)
        return decided

    plan = module.plan_jointly
    with monkeypatch.context() as slow:
        slow.setattr(module, "plan_jointly", plan_slowly)
        tick = tiny.tick()

    assert tick.stale == 1 and tick.preempted == 0
    assert tiny.run_of(victim).state == RunState.RUNNING
    assert not Reservation.objects.filter(closed_at=None).exists()
    assert not Decision.objects.filter(job=urgent, superseded_at=None).exists()
