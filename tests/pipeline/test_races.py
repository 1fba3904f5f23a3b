"""People act while a tick is under way: what they said is never overwritten by what it has read before."""

import pytest

from cluster.engines.registry import get_engine
from cluster.models import JobState, RunOutcome, RunState
from cluster.pipeline import tick as module
from cluster.pipeline.reconcile import reconcile
from cluster.services.cancel_job import cancel_job
from cluster.services.hold_job import hold_job


@pytest.fixture
def crowd(tiny):
    return tiny.tenant("crowd", gpus=128)


@pytest.fixture
def meanwhile(tiny, monkeypatch):
    """meanwhile(step, act): in the next tick, `act` happens right after this step of it."""

    def run(step: str, act) -> object:
        real = getattr(module, step)

        def and_then(*args, **kwargs):
            result = real(*args, **kwargs)
            act()
            return result

        with monkeypatch.context() as patched:
            patched.setattr(module, step, and_then)
            return tiny.tick()

    return run


@pytest.mark.parametrize("step", ["observe", "plan_jointly"])
def test_a_job_cancelled_or_held_while_it_is_planned_does_not_start(tiny, crowd, meanwhile, step):
    cancelled, held, left = (tiny.submit(crowd, gpus=8) for _ in range(3))

    def act():
        if tiny.fresh(cancelled).state == JobState.PENDING:
            cancel_job(by=tiny.owner, job=cancelled)
            hold_job(by=tiny.owner, job=held, reason="wait for me")

    tick = meanwhile(step, act)

    assert (tick.started, tick.stale) == (1, 2)
    assert tiny.fresh(cancelled).state == JobState.CANCELLED
    assert tiny.fresh(held).state == JobState.PENDING and held.admin_hold
    assert tiny.fresh(left).state == JobState.ACTIVE


def test_a_job_cancelled_before_it_is_launched_is_stopped_there(tiny, crowd, meanwhile):
    job = tiny.submit(crowd, gpus=8)
    meanwhile("apply", lambda: cancel_job(by=tiny.owner, job=job))
    tiny.advance(30)

    assert tiny.fresh(job).state == JobState.CANCELLED


def test_a_cancel_between_reading_and_writing_a_run_wins(tiny, crowd, monkeypatch):
    """The report says ready; the owner has cancelled since the run was read."""
    job = tiny.submit(crowd, gpus=8)
    tiny.tick()
    run = tiny.run_of(job)
    tiny.move(120)
    seen = get_engine().observe([str(run.launch_key)])
    from cluster.pipeline import reconcile as here

    def cancel_first(*args):
        cancel_job(by=tiny.owner, job=job)

    monkeypatch.setattr(here, "_save_checkpoints", cancel_first)
    reconcile(tiny.now, seen)

    assert tiny.fresh(run).state == RunState.STOPPING and run.stop_reason == RunOutcome.CANCELLED
    monkeypatch.undo()
    tiny.tick()
    tiny.advance(130)
    assert tiny.fresh(job).state == JobState.CANCELLED


def test_a_cancel_that_meets_the_end_of_a_preempted_run_wins(tiny, crowd, monkeypatch):
    """Read as preempted, which would be requeued; cancelled before that was written."""
    job = tiny.running(crowd, gpus=64, tier="best_effort", checkpoint_cost_s=60)
    tiny.submit(crowd, gpus=64, tier="production")
    tiny.tick()
    run = tiny.run_of(job)
    tiny.move(60)
    seen = get_engine().observe([str(run.launch_key)])
    from cluster.pipeline import reconcile as here

    save = here._save_checkpoints

    def cancel_first(*args):
        if tiny.fresh(run).stop_reason != RunOutcome.CANCELLED:
            cancel_job(by=tiny.owner, job=job)
        save(*args)

    monkeypatch.setattr(here, "_save_checkpoints", cancel_first)
    reconcile(tiny.now, seen)
    assert tiny.fresh(run).state == RunState.STOPPING, "to be looked at again"

    tiny.tick()

    assert tiny.fresh(job).state == JobState.CANCELLED and tiny.fresh(run).outcome == RunOutcome.CANCELLED
