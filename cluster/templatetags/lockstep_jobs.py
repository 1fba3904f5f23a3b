"""Jobs, runs, decisions and events in rows: links, reasons and times, as the reader may see them."""

from datetime import UTC, datetime
from typing import Any

from django import template
from django.urls import reverse
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString

from cluster.models import Decision, Event, Job, Run
from cluster.pages import event_words, verdict_words, words
from cluster.scheduler.verdict import Blocker
from cluster.selectors.expected_start import tells_a_start
from cluster.selectors.job_story import expected_end_of
from cluster.selectors.queue import QueueFilter
from cluster.selectors.why import of_decision, why
from cluster.templatetags.lockstep import _now, until
from tenancy.permissions import Action, Grants

register = template.Library()


def _sees(context: template.Context, job: Job) -> bool:
    """May the reader see the name, the owner and the words of this job?"""
    grants: Grants | None = context.get("grants")
    return grants is not None and grants.may(Action.SEE_JOB, job.tenant_id)


register.filter("arithmetic", verdict_words.arithmetic)
register.filter("terms", verdict_words.terms)
register.filter("label", verdict_words.label)


@register.filter
def blocking_label(constraint: str) -> str:
    return verdict_words.label(constraint, blocking=True)


@register.simple_tag(takes_context=True)
def job_link(context: template.Context, job: Job) -> SafeString:
    """The job by its name where the reader may see it, else by its number; always a link."""
    name = job.name if _sees(context, job) else f"job {job.pk}"
    return format_html(
        '<a class="clip" href="{}" title="{}">{}</a>', reverse("job", args=[job.pk]), name, name
    )


@register.simple_tag(takes_context=True)
def expected(context: template.Context, job: Job) -> SafeString:
    """The expected start: median, with the 90 % bound below. Blank rather than wrong."""
    forecast = getattr(job, "forecast", None)
    if not tells_a_start(forecast, job, _now(context)):
        return format_html(
            '<span class="muted" title="{}">–</span>', "Not foreseen by replaying the present queue"
        )
    late = ""
    if forecast.p90_at is not None:
        said = words.duration((forecast.p90_at - _now(context)).total_seconds())
        full = words.full_time(forecast.p90_at)
        late = format_html('<span class="sub" title="With 90 % by {}">90 %: {}</span>', full, said)
    return format_html("{}{}", until(context, forecast.median_at), late)


@register.inclusion_tag("cluster/reason.html", takes_context=True)
def reason(context: template.Context, job: Job) -> dict[str, Any]:
    """Why it waits, in one line: the constraint and its arithmetic."""
    found = why(job)
    return {"verdict": found.binding if found else None, "job": job, "seen": _sees(context, job)}


@register.simple_tag(takes_context=True)
def owner(context: template.Context, job: Job) -> str:
    """Who submitted it, where the reader may see that."""
    return job.owner.username if _sees(context, job) else "owner not shown"


@register.simple_tag
def job_state(job: Job) -> SafeString:
    tone = {"completed": "good", "failed": "bad", "active": "good"}.get(job.state, "")
    return format_html('<span class="chip {}">{}</span>', tone, job.get_state_display())


@register.simple_tag
def reason_query(wanted: QueueFilter, constraint: str) -> SafeString:
    """The queue's query with this reason; pressed again, without."""
    chosen = "" if wanted.reason == constraint else constraint
    return SafeString(escape(wanted.query(reason=chosen)))


@register.simple_tag(takes_context=True)
def happening(context: template.Context, event: Event, subject: bool = True) -> SafeString:
    """An event as a sentence, with its subject or (on the subject's own page) without."""
    seen = event.job is None or _sees(context, event.job)
    if subject:
        return event_words.told(event, seen=seen)
    said = event_words.saying(event, seen=seen)
    return format_html("{}{}", said[:1].upper(), said[1:])


@register.simple_tag
def run_state(run: Run) -> SafeString:
    if run.state != "ended":
        return format_html(
            '<span class="chip {}">{}</span>',
            "good" if run.state == "running" else "",
            run.get_state_display(),
        )
    tone = {"completed": "good", "preempted": "warn", "cancelled": ""}.get(run.outcome, "bad")
    return format_html('<span class="chip {}">{}</span>', tone, run.get_outcome_display())


@register.simple_tag(takes_context=True)
def job_link_inline(context: template.Context, job: Job) -> SafeString:
    """The job by number for everybody, with its name where the reader may see it."""
    grants: Grants | None = context.get("grants")
    name = (
        f"{job.name} ({job.pk})" if grants and grants.may(Action.SEE_JOB, job.tenant_id) else f"job {job.pk}"
    )
    return format_html('<a href="{}">{}</a>', reverse("job", args=[job.pk]), name)


@register.simple_tag
def decision_sum(decision: Decision) -> str:
    """The arithmetic of the reason when it was made."""
    bound = of_decision(decision).binding
    return verdict_words.arithmetic(bound) if bound else ""


@register.simple_tag(takes_context=True)
def span(context: template.Context, begin: datetime, end: datetime | None) -> str:
    """How long from one moment to another; to now, where there is no end."""
    return words.duration(((end or _now(context)) - begin).total_seconds())


@register.simple_tag(takes_context=True)
def expected_end(context: template.Context, job: Job) -> SafeString:
    """When its open run ends if it works as long as its tenant expects; blank while it is not ready."""
    runs = getattr(job, "open_runs", ())
    if not runs or runs[0].ready_at is None:
        return format_html('<span class="muted" title="{}">–</span>', "Known once its run is ready")
    return until(context, expected_end_of(job, runs[0]))


@register.simple_tag(takes_context=True)
def blocker(context: template.Context, each: Blocker) -> SafeString:
    """What stands in the way, with a link to it and when it is expected to be gone."""
    until_text = ""
    if each.until_s is not None:
        until_text = f", until {words.short_time(datetime.fromtimestamp(each.until_s, UTC), _now(context))}"
    if each.kind == "tenant":
        return format_html(
            '<a href="{}">{}</a> keeps {} GPUs', reverse("tenant", args=[each.id]), each.id, each.gpus
        )
    noun = "reservation of job" if each.kind == "reservation" else "job"
    tier = each.tier.replace("_", " ")
    href = reverse("job", args=[each.id])
    return format_html(
        '<a href="{}">{} {}</a> {} {}, {} GPUs{}',
        href,
        noun,
        each.id,
        each.tenant,
        tier,
        each.gpus,
        until_text,
    )


@register.simple_tag(takes_context=True)
def state_reason(context: template.Context, job: Job) -> str:
    """Why it is in its state, where the reader may see that."""
    return job.state_reason if _sees(context, job) else ""


@register.simple_tag(takes_context=True)
def job_name(context: template.Context, job: Job) -> str:
    return job.name if _sees(context, job) else f"job {job.pk}"
