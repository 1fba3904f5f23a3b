"""Today: the page a cluster owner opens first."""

from datetime import datetime
from functools import cached_property
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils import timezone

from cluster import clock
from cluster.charts.bar import segments
from cluster.charts.capacity_area import capacity_area
from cluster.models import CapacityState, Event
from cluster.pages.csv_file import csv_file
from cluster.pages.page import page, render_page
from cluster.selectors import capacity, events, gathering, history, loans, placeable, queue, standing, usage
from fleet.models import Node, NodeState
from tenancy.permissions import Grants

PARTS = {
    "headline": "cluster/today/headline.html",
    "where": "cluster/today/where.html",
    "head": "cluster/today/head.html",
    "fits": "cluster/today/fits.html",
    "loans": "cluster/today/loans.html",
    "gathering": "cluster/today/gathering.html",
    "incidents": "cluster/today/incidents.html",
    "events": "cluster/today/events.html",
    "twin": "cluster/today/twin.html",
}
TOPICS = ("capacity", "queue", "nodes", "tenants")
WINDOWS = {"1": "1 h", "6": "6 h", "24": "24 h", "168": "7 d"}
_TWIN_ROWS = 24


class Today:
    """What the page shows, each piece counted when its part is rendered."""

    def __init__(self, grants: Grants, now: datetime, hours: str) -> None:
        self.grants, self.now, self.hours = grants, now, hours

    @cached_property
    def capacity(self) -> capacity.Capacity:
        return capacity.capacity_now()

    @cached_property
    def states(self) -> list[dict[str, Any]]:
        """The eight states in order: segment of the bar, words, money and the rows behind it."""
        now = self.capacity
        bars = {segment.state: segment for segment in segments({s: now.gpus[s] for s in CapacityState})}
        return [
            {
                "state": state.value,
                "label": state.label,
                "short": capacity.SHORT[state],
                "means": capacity.MEANING[state],
                "segment": bars[state],
                "gpus": now.gpus[state],
                "share": now.gpus[state] / now.installed if now.installed else None,
                "usd_per_hour": now.usd_per_hour[state],
                "is_wasted": state in capacity.WASTED,
                "href": f"{reverse('nodes')}?gpus={state.value}",
            }
            for state in CapacityState
        ]

    @cached_property
    def midnight(self) -> datetime:
        return timezone.localtime(self.now).replace(hour=0, minute=0, second=0, microsecond=0)

    @cached_property
    def so_far(self) -> usage.Usage:
        """Since midnight, in the reader's zone on the engine's clock."""
        return usage.usage_of(self.midnight, self.now)

    @cached_property
    def twin(self) -> list[dict[str, Any]]:
        """The table behind the area plot: means of a few steps, newest first."""
        past = history.capacity_history(self.now, float(self.hours), steps=_TWIN_ROWS)
        rows = [
            {"at": start, "gpus": [past.gpus[state][i] for state in CapacityState.values]}
            for i, start in enumerate(past.starts)
        ]
        return rows[::-1]

    @cached_property
    def head(self) -> list[Any]:
        return queue.queue_head(self.grants)

    @cached_property
    def waiting(self) -> dict[str, int]:
        return queue.tab_counts(queue.QueueFilter(), self.grants)

    @cached_property
    def fits(self) -> list[placeable.ShapeFit]:
        return placeable.fits(placeable.free_nodes())

    @cached_property
    def loans(self) -> loans.Loans:
        return loans.loans_now(standing.standings())

    @cached_property
    def gathering(self) -> list[gathering.Gathering]:
        return gathering.gatherings()

    @cached_property
    def out_of_work(self) -> list[Node]:
        """Nodes that take no work, the latest first."""
        return list(
            Node.objects.exclude(state=NodeState.ELIGIBLE, drain_asked_at__isnull=True)
            .select_related("drain_by")
            .order_by("-state_since", "name")
        )

    @cached_property
    def node_count(self) -> int:
        return Node.objects.count()

    @cached_property
    def events(self) -> list[Event]:
        return events.notable()


def _hours(request: HttpRequest) -> str:
    asked = request.GET.get("hours", "6")
    return asked if asked in WINDOWS else "6"


@page
def today(request: HttpRequest) -> HttpResponse:
    hours = _hours(request)
    context = {
        "today": Today(request.grants, clock.now(), hours),  # type: ignore[attr-defined]
        "hours": hours,
        "windows": WINDOWS,
        "state_labels": CapacityState.labels,
    }
    return render_page(request, "cluster/today.html", context, here="today", topics=TOPICS, parts=PARTS)


@page
def capacity_csv(request: HttpRequest) -> HttpResponse:
    """The steps behind the area plot."""
    past = history.capacity_history(clock.now(), float(_hours(request)))
    rows = (
        [at, *(past.gpus[state][i] for state in CapacityState.values)] for i, at in enumerate(past.starts)
    )
    return csv_file("capacity", ("from", *CapacityState.values), rows)


@page
def capacity_figure(request: HttpRequest) -> HttpResponse:
    """The area plot's figure, for charts.js."""
    past = history.capacity_history(clock.now(), float(_hours(request)), request.GET.get("model", ""))
    labels = dict(CapacityState.choices)
    return JsonResponse(capacity_area(past, labels, timezone.get_current_timezone()))
