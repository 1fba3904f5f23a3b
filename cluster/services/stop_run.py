"""Ask a run to stop: signal, grace window, end. The signal goes out when the tick is carried out."""

from datetime import datetime, timedelta

from cluster.models import Run, RunOutcome, RunState
from cluster.selectors.policy import current_policy

LIVE = (RunState.LAUNCHING, RunState.STARTING, RunState.RUNNING)


def stop_run(run: Run, *, reason: RunOutcome, at: datetime, grace_s: float | None = None) -> datetime | None:
    """The end of its grace window, as far as it is known before the signal; None if it is not live any more.

    The window is the job's own, cut to what the policy allows, whoever asks: a lender counts on it.
    """
    window_s = min(float(run.job.grace_s), current_policy().max_grace_s) if grace_s is None else grace_s
    until = at + timedelta(seconds=window_s)
    mine = Run.objects.filter(pk=run.pk, state__in=LIVE).update(
        state=RunState.STOPPING, stop_reason=reason, stop_requested_at=at, grace_until=until
    )
    if not mine:
        return None
    run.state, run.stop_reason = RunState.STOPPING, reason
    run.stop_requested_at, run.grace_until = at, until
    return until
