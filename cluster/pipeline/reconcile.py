"""Learn from the engine what became of the runs. Only what it positively says is believed."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import transaction

from cluster.engines.contract import Engine, EnginePhase, Observation
from cluster.models import Checkpoint, Event, Run, RunOutcome, RunState
from cluster.pipeline.end_run import end_run
from cluster.services.append_event import append_events, job_event
from fleet.models import EvidenceKind, Node
from fleet.services.record_evidence import record_evidence


@dataclass
class Learned:
    """What a reconciliation changed."""

    ended: int = 0
    events: list[Event] = field(default_factory=list)


@transaction.atomic
def reconcile(engine: Engine, at: datetime, observations: Iterable[Observation]) -> Learned:
    """Bring the open runs up to what the engine reported. Late and repeated reports change nothing."""
    learned = Learned()
    open_runs = {
        str(run.launch_key): run for run in Run.objects.exclude(state=RunState.ENDED).select_related("job")
    }
    for seen in observations:
        run = open_runs.get(seen.launch_key)
        if run is not None and seen.phase is not EnginePhase.UNKNOWN:
            _take_in(run, seen, at, learned)
    for run in open_runs.values():
        if run.state != RunState.ENDED:
            _enforce_limits(run, at, learned)
    append_events(learned.events)
    return learned


def _take_in(run: Run, seen: Observation, at: datetime, learned: Learned) -> None:
    if seen.phase is EnginePhase.ABSENT:
        _never_heard_of(run, at, learned)
        return
    _save_checkpoints(run, seen)
    if seen.phase is EnginePhase.ENDED:
        learned.events += end_run(run, seen, at)
        learned.ended += 1
        return
    if seen.ready_at is not None and run.ready_at is None:
        run.ready_at = seen.ready_at
        if run.state != RunState.STOPPING:
            run.state = RunState.RUNNING
        learned.events.append(
            job_event("job.running", run.job, at=seen.ready_at, job=run.job_id, run=run.number)
        )
    if seen.activity is not None:
        run.activity_busy_gpus, run.activity_at = seen.activity.busy_gpus, seen.activity.at
    run.progress_s, run.engine_note = seen.progress_s, seen.note[:200]
    run.not_ready = seen.not_ready  # type: ignore[attr-defined]  # for the readiness timeout below
    run.save(
        update_fields=["ready_at", "state", "activity_busy_gpus", "activity_at", "progress_s", "engine_note"]
    )


def _never_heard_of(run: Run, at: datetime, learned: Learned) -> None:
    """Not launched yet: wait for the launch, or end it if it is to stop. Launched: the engine has lost it."""
    if run.state == RunState.LAUNCHING and run.launched_at is None:
        return
    learned.events += end_run(run, Observation(str(run.launch_key), EnginePhase.ENDED, ended_at=at), at)
    learned.ended += 1


def _save_checkpoints(run: Run, seen: Observation) -> None:
    fresh = [c for c in seen.checkpoints if run.last_checkpoint_at is None or c[0] > run.last_checkpoint_at]
    if not fresh:
        return
    Checkpoint.objects.bulk_create(
        [Checkpoint(run=run, at=moment, progress_s=kept) for moment, kept in fresh], ignore_conflicts=True
    )
    run.last_checkpoint_at, kept = fresh[-1]
    run.save(update_fields=["last_checkpoint_at"])
    if kept > run.job.progress_s:
        run.job.progress_s = kept
        run.job.save(update_fields=["progress_s"])


def _enforce_limits(run: Run, at: datetime, learned: Learned) -> None:
    """Stop what is not ready within its readiness timeout, and what has run for its time limit."""
    job = run.job
    if run.state == RunState.STARTING and run.launched_at is not None:
        if at >= run.launched_at + timedelta(seconds=job.readiness_timeout_s):
            _blame(run, at)
            request_stop(run, RunOutcome.START_FAILED, at, grace_s=0.0)
            learned.events.append(job_event("job.not_ready", job, at=at, job=job.pk, run=run.number))
    elif run.state == RunState.RUNNING and job.time_limit_s is not None and run.ready_at is not None:
        if at >= run.ready_at + timedelta(seconds=job.time_limit_s):
            request_stop(run, RunOutcome.TIME_LIMIT, at, grace_s=float(job.grace_s))
            learned.events.append(job_event("job.time_limit", job, at=at, job=job.pk, run=run.number))


def _blame(run: Run, at: datetime) -> None:
    """The nodes whose member did not become ready get evidence; it is not a diagnosis."""
    names = getattr(run, "not_ready", ())
    for node in Node.objects.filter(name__in=names):
        record_evidence(
            node=node,
            kind=EvidenceKind.FAILED_START,
            seen_at=at,
            source="readiness timeout",
            detail=f"job {run.job_id}, run {run.number}: not ready after {run.job.readiness_timeout_s} s",
            key=f"failed_start:{run.launch_key}:{node.pk}",
        )


def request_stop(run: Run, reason: str, at: datetime, *, grace_s: float) -> bool:
    """Ask for a stop; the signal goes out with the next `carry_out`. False if it was stopping already."""
    live = (RunState.LAUNCHING, RunState.STARTING, RunState.RUNNING)
    grace_until = at + timedelta(seconds=grace_s)
    mine = Run.objects.filter(pk=run.pk, state__in=live).update(
        state=RunState.STOPPING, stop_reason=reason, stop_requested_at=at, grace_until=grace_until
    )
    if mine:
        run.state, run.stop_reason = RunState.STOPPING, reason
        run.stop_requested_at, run.grace_until = at, grace_until
    return bool(mine)
