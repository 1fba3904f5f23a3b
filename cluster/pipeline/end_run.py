"""A run has ended: free its GPUs, work out what was lost, and decide what becomes of its job."""

from datetime import datetime, timedelta

from django.db.models import F

from cluster.engines.contract import EndCause, Observation
from cluster.models import (
    Allocation,
    Event,
    Job,
    JobState,
    Preemption,
    PreemptionRule,
    Run,
    RunOutcome,
    RunState,
)
from cluster.pipeline.backoff import backoff_s
from cluster.services.append_event import job_event

OUTCOMES: dict[EndCause | None, RunOutcome] = {
    EndCause.COMPLETED: RunOutcome.COMPLETED,
    EndCause.FAILED: RunOutcome.FAILED,
    EndCause.NODE_LOST: RunOutcome.NODE_FAILURE,
}
FINAL = (RunOutcome.CANCELLED, RunOutcome.TIME_LIMIT, RunOutcome.FAILED)
"""Reasons to stop that end the job, too, whatever else happens to the run on its way out."""


def end_run(run: Run, seen: Observation, at: datetime) -> list[Event]:
    """End an open run as the engine reported it. Ending it twice changes nothing. Gives the events.

    The run stays open, to be ended at the next tick, when somebody has asked for another end meanwhile.
    """
    ended_at = max(min(seen.ended_at or at, at), run.planned_at)
    outcome = _outcome(run, seen)
    lost_s = _lost_s(run, seen, outcome)
    # A reason to stop that has come in since the run was read decides about the job: look again then.
    mine = (
        Run.objects.filter(pk=run.pk, stop_reason=run.stop_reason)
        .exclude(state=RunState.ENDED)
        .update(
            state=RunState.ENDED,
            outcome=outcome,
            ended_at=ended_at,
            exit_code=seen.exit_code,
            progress_s=seen.progress_s,
            lost_s=lost_s,
            ready_at=seen.ready_at or run.ready_at,
            engine_note=seen.note[:200] or run.engine_note,
        )
    )
    if not mine:
        return []
    run.state, run.outcome, run.ended_at, run.lost_s = RunState.ENDED, outcome, ended_at, lost_s
    run.engine_note = seen.note[:200] or run.engine_note
    Allocation.objects.filter(run=run, released_at=None).update(released_at=ended_at)
    _close_receipt(run)
    return _settle_job(run, outcome, ended_at)


def _outcome(run: Run, seen: Observation) -> RunOutcome:
    """What the engine saw, and where it merely stopped on request, the reason for the request.

    A process that is signalled may well exit with an error: that is no failure of its own.
    """
    asked = RunOutcome(run.stop_reason) if run.stop_reason else None
    if asked is not None and seen.cause in (None, EndCause.STOPPED, EndCause.FAILED):
        return asked
    return OUTCOMES.get(seen.cause, RunOutcome.NODE_FAILURE)


def _lost_s(run: Run, seen: Observation, outcome: str) -> float | None:
    """Seconds of work that must be done again; None when the engine did not say how far it was."""
    if outcome == RunOutcome.COMPLETED:
        return 0.0
    if seen.progress_s is None:
        return None
    kept = max(run.job.progress_s, run.resumed_from_s)
    return max(0.0, seen.progress_s - kept)


def _close_receipt(run: Run) -> None:
    lost = None if run.lost_s is None else (run.lost_s + run.job.restart_cost_s) * run.job.gpus / 3600.0
    if run.outcome == RunOutcome.COMPLETED:
        lost = 0.0
    Preemption.objects.filter(victim=run).update(ended_at=run.ended_at, lost_gpu_hours=lost)


def _settle_job(run: Run, outcome: str, ended_at: datetime) -> list[Event]:
    job = run.job
    if outcome != RunOutcome.COMPLETED and run.stop_reason in FINAL:
        outcome = run.stop_reason
    over = {
        RunOutcome.COMPLETED: (JobState.COMPLETED, ""),
        RunOutcome.FAILED: (JobState.FAILED, run.engine_note or "it failed by itself"),
        RunOutcome.CANCELLED: (JobState.CANCELLED, ""),
        RunOutcome.TIME_LIMIT: (JobState.FAILED, "it reached its time limit"),
    }.get(RunOutcome(outcome))
    if over is not None:
        state, reason = over
        _change(job, state=state, state_reason=reason, ended_at=ended_at)
        return [job_event(f"job.{state}", job, at=ended_at, job=job.pk, run=run.number, reason=reason)]
    if outcome == RunOutcome.PREEMPTED:
        by_tier = Preemption.objects.filter(victim=run, rule=PreemptionRule.TIER).exists()
        _change(
            job, state=JobState.PENDING, state_reason="preempted", preemptions=F("preemptions") + int(by_tier)
        )
        return [job_event("job.requeued", job, at=ended_at, job=job.pk, run=run.number, why=outcome)]
    return _retry(run, outcome, ended_at)


def _retry(run: Run, outcome: str, ended_at: datetime) -> list[Event]:
    """After a failed start or a lost node: back to its place in the queue, until its retries are used up."""
    job = run.job
    if job.retries >= job.retry_limit:
        reason = f"{RunOutcome(outcome).label} after {job.retries} retries, its limit"
        _change(job, state=JobState.FAILED, state_reason=reason, ended_at=ended_at)
        return [job_event("job.failed", job, at=ended_at, job=job.pk, run=run.number, reason=reason)]
    wait_s = backoff_s(job.retries) if outcome == RunOutcome.START_FAILED else 0.0
    _change(
        job,
        state=JobState.PENDING,
        state_reason=RunOutcome(outcome).label,
        retries=F("retries") + 1,
        not_before=ended_at + timedelta(seconds=wait_s) if wait_s else None,
    )
    return [job_event("job.requeued", job, at=ended_at, job=job.pk, run=run.number, why=outcome)]


def _change(job: Job, **values: object) -> None:
    Job.objects.filter(pk=job.pk, state=JobState.ACTIVE).update(version=F("version") + 1, **values)
