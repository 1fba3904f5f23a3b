"""After commit: tell the engine what was decided.

Every step may be repeated, by this worker or another; a crash leaves work for the next tick.
"""

import logging

from cluster.engines.contract import Engine, EngineUnreachable, LaunchRefused, LaunchSpec
from cluster.models import Allocation, Preemption, Run, RunOutcome, RunState
from cluster.pipeline.staging import nodes_to_stage
from cluster.services.stop_run import stop_run

log = logging.getLogger(__name__)


def carry_out(engine: Engine) -> bool:
    """Launch and stop whatever is still due. False if the engine did not answer: it will be asked again."""
    stops = [(_send_stop, run) for run in _due(RunState.STOPPING, stop_sent=False)]
    launches = [(_launch, run) for run in _due(RunState.LAUNCHING, launched_at=None)]
    for act, run in stops + launches:
        try:
            act(engine, run)
        except EngineUnreachable:
            log.warning("the engine %s did not answer", engine.name, exc_info=True)
            return False
        except Exception:  # one run must not keep the others from what is due to them
            log.exception("job %s, run %s: tried again at the next tick", run.job_id, run.number)
    return True


def _due(state: str, **more: object) -> list[Run]:
    return list(Run.objects.filter(state=state, **more).select_related("job").order_by("pk"))


def _launch(engine: Engine, run: Run) -> None:
    try:
        engine.launch(launch_spec(run))
    except LaunchRefused as refusal:
        _give_up(engine, run, str(refusal))
        return
    # A cancelled run may have moved on meanwhile: its stop, sent to the same key, wins.
    Run.objects.filter(pk=run.pk, launched_at=None).update(launched_at=engine.now())
    Run.objects.filter(pk=run.pk, state=RunState.LAUNCHING).update(state=RunState.STARTING)


def _give_up(engine: Engine, run: Run, why: str) -> None:
    """A gang that the engine will never start: its job fails, and says why."""
    log.warning("the engine %s refused job %s, run %s: %s", engine.name, run.job_id, run.number, why)
    Run.objects.filter(pk=run.pk).update(engine_note=why[:200])
    if stop_run(run, reason=RunOutcome.FAILED, at=engine.now(), grace_s=0.0) is not None:
        _send_stop(engine, run)


def _send_stop(engine: Engine, run: Run) -> None:
    """The window begins now, when the signal goes out: a late one must not cost the job its checkpoint."""
    assert run.stop_requested_at is not None and run.grace_until is not None
    key, window = str(run.launch_key), run.grace_until - run.stop_requested_at
    engine.request_checkpoint(key)
    engine.stop(key, grace_s=window.total_seconds())
    until = engine.now() + window
    Run.objects.filter(pk=run.pk).update(stop_sent=True, grace_until=until)
    Preemption.objects.filter(victim=run, ended_at=None).update(deadline=until)


def launch_spec(run: Run) -> LaunchSpec:
    """All an engine needs to start this run's gang."""
    members: dict[str, list[int]] = {}
    held = Allocation.objects.filter(run=run, released_at=None).order_by("node__name", "gpu__index")
    for node, index in held.values_list("node__name", "gpu__index"):
        members.setdefault(node, []).append(index)
    job = run.job
    return LaunchSpec(
        launch_key=str(run.launch_key),
        job_id=job.pk,
        run_number=run.number,
        members=members,
        expected_duration_s=job.expected_duration_s,
        resume_from_s=run.resumed_from_s,
        checkpoint_interval_s=job.checkpoint_interval_s,
        checkpoint_cost_s=job.checkpoint_cost_s,
        checkpoint_on_signal=job.checkpoint_on_signal,
        restart_cost_s=job.restart_cost_s,
        dataset=job.dataset,
        dataset_gb=job.dataset_gb,
        stage_on=nodes_to_stage(run),
        code_version=job.code_version,
        workload=job.workload,
    )
