"""After commit: tell the engine what was decided. Every step may be repeated; a crash leaves work for the next tick."""

import logging

from cluster.engines.contract import Engine, EngineUnreachable, LaunchSpec
from cluster.models import Allocation, Run, RunState

log = logging.getLogger(__name__)


def carry_out(engine: Engine) -> bool:
    """Launch and stop whatever is still due. False if the engine did not answer: it will be asked again."""
    try:
        for run in _due(RunState.STOPPING, stop_sent=False):
            _send_stop(engine, run)
        for run in _due(RunState.LAUNCHING, launched_at=None):
            _launch(engine, run)
    except EngineUnreachable:
        log.warning("the engine %s did not answer", engine.name, exc_info=True)
        return False
    return True


def _due(state: str, **more: object) -> list[Run]:
    return list(Run.objects.filter(state=state, **more).select_related("job").order_by("pk"))


def _launch(engine: Engine, run: Run) -> None:
    engine.launch(launch_spec(run))
    # A cancelled run may have moved on meanwhile: its stop, sent to the same key, wins.
    Run.objects.filter(pk=run.pk, launched_at=None).update(launched_at=engine.now())
    Run.objects.filter(pk=run.pk, state=RunState.LAUNCHING).update(state=RunState.STARTING)


def _send_stop(engine: Engine, run: Run) -> None:
    assert run.stop_requested_at is not None and run.grace_until is not None
    key = str(run.launch_key)
    engine.request_checkpoint(key)
    engine.stop(key, grace_s=max(0.0, (run.grace_until - engine.now()).total_seconds()))
    Run.objects.filter(pk=run.pk).update(stop_sent=True)


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
        code_version=job.code_version,
        workload=job.workload,
    )
