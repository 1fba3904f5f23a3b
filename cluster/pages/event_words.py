"""One sentence for each kind of event. An unknown kind is told by its name: nothing is left out."""

from collections.abc import Callable, Mapping
from typing import Any

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from cluster.models import Event, PreemptionRule, RunOutcome

Data = Mapping[str, Any]
_RULES = {
    PreemptionRule.TIER: "for a higher tier",
    PreemptionRule.RECLAIM: "because its lender called the loan back",
    PreemptionRule.BACKFILL_RETURN: "because the reservation it ran before is due",
}
_OPEN_KEYS = frozenset({"run", "backfill", "rule", "why", "victim", "constraint", "node", "state"})
"""What an event tells everybody: numbers and words of the closed vocabularies."""
JOB_SAYINGS: Mapping[str, Callable[[Data], str]] = {
    "job.submitted": lambda d: "was submitted",
    "job.held": lambda d: f"waits for {str(d.get('constraint', '')).replace('_', ' ')}",
    "job.started": lambda d: f"was started as run {d.get('run')}{' (backfill)' if d.get('backfill') else ''}",
    "job.running": lambda d: f"is ready: run {d.get('run')} computes",
    "job.preempting": lambda d: f"got its checkpoint signal {_RULES.get(d.get('rule'), '')}".strip(),
    "job.preempts": lambda d: f"makes job {d.get('victim')} give way",
    "job.requeued": lambda d: f"is back in the queue: {_outcome(d.get('why'))}",
    "job.failed": lambda d: _failed(d.get("reason")),
    "job.completed": lambda d: "completed",
    "job.cancelled": lambda d: f"was cancelled{_by(d)}",
    "job.cancelling": lambda d: f"is being stopped{_by(d)}",
    "job.not_ready": lambda d: f"did not become ready in time: run {d.get('run')} is torn down whole",
    "job.time_limit": lambda d: f"reached its time limit: run {d.get('run')} is stopped",
    "job.on_hold": lambda d: f"was put on hold{_by(d)}",
    "job.released": lambda d: f"was released{_by(d)}",
}
NODE_SAYINGS: Mapping[str, Callable[[Data], str]] = {
    "node.drain": lambda d: f"takes no new work: {d.get('by')} drains it, {d.get('reason')}",
    "node.resume": lambda d: f"takes work again: {d.get('by')} resumed it",
    "node.eligible": lambda d: "takes work again",
}


def _failed(reason: Any) -> str:
    """The loop's reasons are clauses about the job: "it failed by itself"."""
    if not reason:
        return "failed"
    return str(reason).removeprefix("it ") if str(reason).startswith("it failed") else f"failed: {reason}"


def _by(data: Data) -> str:
    """` by lars: reason`, as far as both are told."""
    by = f" by {data['by']}" if data.get("by") else ""
    return f"{by}: {data['reason']}" if data.get("reason") else by


def _outcome(why: Any) -> str:
    return (
        str(RunOutcome(why).label)
        if why in RunOutcome.values
        else str(why or "an end that was not explained")
    )


def saying(event: Event, *, seen: bool = True) -> str:
    """What happened, without the subject's name; for who may not see the job, without people's words."""
    data = event.data if seen else {k: v for k, v in event.data.items() if k in _OPEN_KEYS}
    if event.kind in JOB_SAYINGS:
        return JOB_SAYINGS[event.kind](data)
    if event.kind == "solver.trouble":
        return f"the solver gave no plan, greedy's stands: {data.get('trouble')}"
    if event.kind in NODE_SAYINGS:
        return NODE_SAYINGS[event.kind](data)
    if event.kind.startswith("node."):
        state, reason = event.kind.removeprefix("node.").replace("_", " "), data.get("reason")
        return f"is now {state}{': ' + str(reason) if reason else ''}"
    return event.kind.replace(".", " ").replace("_", " ")


def told(event: Event, *, seen: bool = True) -> SafeString:
    """The sentence with a link to its subject. `seen`: the reader may see the job's details."""
    said = saying(event, seen=seen or event.node is not None)
    if event.node is not None:
        href, name = reverse("node", args=[event.node.name]), event.node.name
    elif event.job_id is not None:
        name = event.job.name if seen and event.job else f"job {event.job_id}"
        href = reverse("job", args=[event.job_id])
    else:
        return format_html("{}{}", said[:1].upper(), said[1:])
    return format_html('<a class="quiet-link" href="{}"><strong>{}</strong></a> {}', href, name, said)
