"""Learn from the engine what became of the runs. Only what it positively says is believed."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import transaction

from cluster.engines.contract import EnginePhase, Observation
from cluster.models import Checkpoint, Event, Job, Run, RunOutcome, RunState
from cluster.pipeline.bulk import update_rows
from cluster.pipeline.end_run import end_run
from cluster.pipeline.staging import note_staged
from cluster.services.append_event import append_events, job_event
from cluster.services.stop_run import stop_run
from fleet.models import EvidenceKind, Node
from fleet.services.record_evidence import record_evidence

SIGHT = ("launched_at", "ready_at", "activity_busy_gpus", "activity_at", "progress_s", "engine_note")
"""What only the engine knows of a run. Its state is not among it: others change that at the same time."""


@dataclass
class Learned:
    """What a reconciliation changed."""

    ended: int = 0
    seen: list[Run] = field(default_factory=list)
    ready: list[Run] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)


@transaction.atomic
def reconcile(at: datetime, observations: Iterable[Observation]) -> Learned:
    """Bring the open runs up to what the engine reported. Late and repeated reports change nothing."""
    learned = Learned()
    open_runs = {
        str(run.launch_key): run for run in Run.objects.exclude(state=RunState.ENDED).select_related("job")
    }
    for seen in observations:
        run = open_runs.get(seen.launch_key)
        if run is None or seen.phase is EnginePhase.UNKNOWN:
            continue
        if seen.phase is EnginePhase.ABSENT:
            _never_heard_of(run, at, learned)
        elif seen.phase is EnginePhase.ENDED:
            _save_checkpoints(run, seen)
            _end(run, seen, at, learned)
        else:
            _save_checkpoints(run, seen)
            _take_in(run, seen, at, learned)
            _enforce_limits(run, seen, at, learned)
    note_staged(learned.ready, at)
    update_rows(learned.seen, SIGHT)
    append_events(learned.events)
    return learned


def _end(run: Run, seen: Observation, at: datetime, learned: Learned) -> None:
    learned.events += end_run(run, seen, at)
    learned.ended += run.state == RunState.ENDED


def _never_heard_of(run: Run, at: datetime, learned: Learned) -> None:
    """The engine has lost what it had taken on. What it was never told of, it will be told of.

    Until it knows that the run is to stop, a launch may still be on its way from a worker that has fallen
    behind: the GPUs are free only when the engine has acknowledged the stop.
    """
    if run.launched_at is not None or run.stop_sent:
        _end(run, Observation(str(run.launch_key), EnginePhase.ENDED, ended_at=at), at, learned)


def _take_in(run: Run, seen: Observation, at: datetime, learned: Learned) -> None:
    before = _worth_writing(run)
    run.launched_at = run.launched_at or at
    if seen.ready_at is not None and run.ready_at is None:
        run.ready_at = seen.ready_at
        learned.ready.append(run)
        learned.events.append(
            job_event("job.running", run.job, at=seen.ready_at, job=run.job_id, run=run.number)
        )
    reached = RunState.STARTING if run.ready_at is None else RunState.RUNNING
    if run.state in (RunState.LAUNCHING, RunState.STARTING) and run.state != reached:
        # Compare and swap: whoever has asked for a stop since the run was read is not to be overruled.
        mine = Run.objects.filter(pk=run.pk, state=run.state).update(state=reached)
        run.state = reached if mine else RunState.STOPPING
    if seen.activity is not None:
        run.activity_busy_gpus, run.activity_at = seen.activity.busy_gpus, seen.activity.at
    run.progress_s, run.engine_note = seen.progress_s, seen.note[:200] or run.engine_note
    if _worth_writing(run) != before:
        learned.seen.append(run)


def _worth_writing(run: Run) -> tuple[object, ...]:
    """Progress alone is not: it grows by itself, and is written whenever the activity is measured anew."""
    return (run.launched_at, run.ready_at, run.activity_busy_gpus, run.activity_at, run.engine_note)


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
        Job.objects.filter(pk=run.job_id).update(progress_s=kept)


def _enforce_limits(run: Run, seen: Observation, at: datetime, learned: Learned) -> None:
    """Stop what is not ready within its readiness timeout, and what has run for its time limit.

    Only for runs that the engine sees: one that is out of sight may well be ready.
    """
    job = run.job
    if run.state == RunState.STARTING and run.launched_at is not None:
        if at < run.launched_at + timedelta(seconds=job.readiness_timeout_s):
            return
        _blame(run, seen.not_ready, at)
        if stop_run(run, reason=RunOutcome.START_FAILED, at=at, grace_s=0.0) is not None:
            learned.events.append(job_event("job.not_ready", job, at=at, job=job.pk, run=run.number))
    elif run.state == RunState.RUNNING and job.time_limit_s is not None and run.ready_at is not None:
        over = at >= run.ready_at + timedelta(seconds=job.time_limit_s)
        if over and stop_run(run, reason=RunOutcome.TIME_LIMIT, at=at) is not None:
            learned.events.append(job_event("job.time_limit", job, at=at, job=job.pk, run=run.number))


def _blame(run: Run, not_ready: Iterable[str], at: datetime) -> None:
    """The nodes whose member did not become ready get evidence; it is not a diagnosis."""
    for node in Node.objects.filter(name__in=list(not_ready)):
        record_evidence(
            node_id=node.pk,
            kind=EvidenceKind.FAILED_START,
            seen_at=at,
            source="readiness timeout",
            detail=f"job {run.job_id}, run {run.number}: not ready after {run.job.readiness_timeout_s} s",
            key=f"failed_start:{run.launch_key}:{node.pk}",
        )
