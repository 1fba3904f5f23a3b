"""The queue: who waits and why, who runs, what is over."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, JsonResponse
from django.utils import timezone

from cluster import clock
from cluster.charts.gang_timeline import gang_timeline
from cluster.models import Job, JobState
from cluster.pages.csv_file import csv_file
from cluster.pages.page import page, render_page
from cluster.pages.verdict_words import arithmetic, label
from cluster.scheduler.words import Constraint, Tier
from cluster.selectors import timeline
from cluster.selectors.queue import QueueFilter, Reason, queue, reasons, tab_counts
from cluster.selectors.why import why
from fleet.models import GpuModel
from tenancy.models import Tenant
from tenancy.permissions import Action, Grants

PARTS = {name: f"cluster/queue/{name}.html" for name in ("tabs", "reasons", "rows", "timeline")}
PAGE_SIZE = 50
TAB_LABELS = {"waiting": "Waiting", "running": "Running", "over": "Over", "all": "All"}
_LAST_COLUMNS = {
    "waiting": (("age", "In queue"), ("", "Because"), ("start", "Expected start")),
    "running": (("age", "Since"), ("", "State"), ("", "Expected end")),
    "over": (("age", "Queued"), ("", "How it ended"), ("ended", "Ended")),
    "all": (("age", "Queued"), ("", "State"), ("ended", "Ended")),
}
CSV_HEAD = (
    "job",
    "name",
    "tenant",
    "owner",
    "tier",
    "kind",
    "state",
    "gpus",
    "gpu_model",
    "locality_required",
    "submitted_at",
    "queued_at",
    "reason",
    "arithmetic",
    "expected_start_median",
    "expected_start_90_percent",
    "ended_at",
)


class Queue:
    """What the page shows, each piece counted when its part is rendered."""

    def __init__(self, wanted: QueueFilter, grants: Grants, number: str) -> None:
        self.filter, self.grants, self._number = wanted, grants, number

    @cached_property
    def page(self) -> Page[Job]:
        return Paginator(queue(self.filter, self.grants), PAGE_SIZE).get_page(self._number)

    @cached_property
    def reasons(self) -> list[Reason]:
        return reasons(self.filter, self.grants)

    @property
    def most_waiting(self) -> int:
        return max((reason.jobs for reason in self.reasons), default=1)

    @cached_property
    def tabs(self) -> list[dict[str, Any]]:
        counts = tab_counts(self.filter, self.grants)
        return [
            {
                "name": name,
                "label": TAB_LABELS[name],
                "count": counts[name],
                "is_here": name == self.filter.tab,
                "query": self.filter.query(tab=name, state="", reason="", sort=""),
            }
            for name in TAB_LABELS
        ]

    @cached_property
    def choices(self) -> dict[str, list[tuple[str, str]]]:
        """What the filter's menus offer."""
        return {
            "tenant": [(name, name) for name in Tenant.objects.values_list("name", flat=True)],
            "tier": [(tier.value, tier.value.replace("_", " ")) for tier in Tier],
            "model": [(name, name) for name in GpuModel.objects.values_list("name", flat=True)],
            "reason": [(each.value, label(each, blocking=True)) for each in Constraint],
            "state": list(JobState.choices),
        }

    @cached_property
    def timeline(self) -> timeline.Timeline:
        return timeline.lanes(clock.now(), self.grants)

    @property
    def columns(self) -> list[dict[str, str]]:
        """The head of the table: what sorts by what, and which way the next press sorts."""
        names = [
            ("", "Gang"),
            ("tenant", "Tenant"),
            ("tier", "Tier"),
            ("gpus", "GPUs"),
            *_LAST_COLUMNS[self.filter.tab],
        ]
        return [self._column(key, words) for key, words in names]

    def _column(self, key: str, words: str) -> dict[str, str]:
        order = self.filter.order
        here = {key: "ascending", f"-{key}": "descending"}.get(order, "") if key else ""
        following = f"-{key}" if order == key else key
        numeric = (
            "number"
            if words in ("GPUs", "In queue", "Since", "Queued", "Expected start", "Expected end", "Ended")
            else ""
        )
        query = self.filter.query(sort=following) if key else ""
        return {"key": key, "label": words, "sorted": here, "query": query, "kind": numeric}


@page
def queue_page(request: HttpRequest) -> HttpResponse:
    try:
        wanted = QueueFilter.read(request.GET)
    except ValueError as error:
        return HttpResponseBadRequest(str(error), content_type="text/plain; charset=utf-8")
    grants: Grants = request.grants  # type: ignore[attr-defined]
    if request.GET.get("format") == "csv":
        return csv_file("queue", CSV_HEAD, _csv_rows(wanted, grants))
    shown = Queue(wanted, grants, request.GET.get("page", "1"))
    context = {"queue": shown, "filter": wanted, "query": wanted.query()}
    return render_page(request, "cluster/queue.html", context, here="queue", topics=("queue",), parts=PARTS)


def _csv_rows(wanted: QueueFilter, grants: Grants) -> Iterator[tuple[Any, ...]]:
    visible = grants.tenants(Action.SEE_JOB)
    for job in queue(wanted, grants).iterator(chunk_size=500):
        found, seen = why(job), job.tenant_id in visible
        bound = found.binding if found else None
        forecast = getattr(job, "forecast", None)
        yield (
            job.pk,
            job.name if seen else None,
            job.tenant.name,
            job.owner.username if seen else None,
            job.tier,
            job.kind,
            job.state,
            job.gpus,
            job.gpu_model.name,
            job.locality_required,
            job.submitted_at,
            job.queued_at,
            bound.constraint.value if bound else (job.state_reason if seen else None),
            arithmetic(bound) if bound else None,
            forecast.median_at if forecast else None,
            forecast.p90_at if forecast else None,
            job.ended_at,
        )


@page
def timeline_figure(request: HttpRequest) -> HttpResponse:
    """The gang timeline's figure, for charts.js."""
    lanes = timeline.lanes(clock.now(), request.grants)  # type: ignore[attr-defined]
    return JsonResponse(gang_timeline(lanes, timezone.get_current_timezone()))
