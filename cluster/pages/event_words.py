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
JOB_SAYINGS: Mapping[str, Callable[[Data], str]] = {
    "job.submitted": lambda d: "was submitted",
    "job.held": lambda d: f"waits for {str(d.get('constraint', '')).replace('_', ' ')}",
    "job.started": lambda d: f"was started as run {d.get('run')}{' (backfill)' if d.get('backfill') else ''}",
    "job.running": lambda d: f"is ready: run {d.get('run')} computes",
    "job.preempting": lambda d: f"got its checkpoint signal {_RULES.get(d.get('rule'), '')}".strip(),
    "job.preempts": lambda d: f"makes job {d.get('victim')} give way",
    "job.requeued": lambda d: f"is back in the queue: {_outcome(d.get('why'))}",
    "job.failed": lambda d: f"failed: {d.get('reason') or 'no reason was given'}",
    "job.completed": lambda d: "completed",
    "job.cancelled": lambda d: f"was cancelled{' by ' + str(d['by']) if d.get('by') else ''}",
    "job.cancelling": lambda d: f"is being stopped{' by ' + str(d['by']) if d.get('by') else ''}",
    "job.not_ready": lambda d: f"did not become ready in time: run {d.get('run')} is torn down whole",
    "job.time_limit": lambda d: f"reached its time limit: run {d.get('run')} is stopped",
    "job.on_hold": lambda d: f"was put on hold by {d.get('by')}: {d.get('reason')}",
    "job.released": lambda d: f"was released by {d.get('by')}",
}
NODE_SAYINGS: Mapping[str, Callable[[Data], str]] = {
    "node.drain": lambda d: f"takes no new work: {d.get('by')} drains it, {d.get('reason')}",
    "node.resume": lambda d: f"takes work again: {d.get('by')} resumed it",
    "node.eligible": lambda d: "takes work again",
}


def _outcome(why: Any) -> str:
    return (
        str(RunOutcome(why).label)
        if why in RunOutcome.values
        else str(why or "an end that was not explained")
    )


def saying(event: Event) -> str:
    """What happened to the subject, without its name."""
    if event.kind in JOB_SAYINGS:
        return JOB_SAYINGS[event.kind](event.data)
    if event.kind in NODE_SAYINGS:
        return NODE_SAYINGS[event.kind](event.data)
    if event.kind.startswith("node."):
        state, reason = event.kind.removeprefix("node.").replace("_", " "), event.data.get("reason")
        return f"is now {state}{': ' + str(reason) if reason else ''}"
    return event.kind.replace(".", " ").replace("_", " ")


def told(event: Event, job_name: str = "") -> SafeString:
    """The sentence with a link to its subject. `job_name` as the reader may see it."""
    if event.node is not None:
        href, name = reverse("node", args=[event.node.name]), event.node.name
    elif event.job_id is not None:
        href, name = reverse("job", args=[event.job_id]), job_name or f"job {event.job_id}"
    else:
        return format_html("{}", saying(event).capitalize())
    return format_html(
        '<a class="quiet-link" href="{}"><strong>{}</strong></a> {}', href, name, saying(event)
    )
