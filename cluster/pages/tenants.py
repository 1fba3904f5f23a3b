"""Tenants: the tree with what each is entitled to, uses, lends and borrows; and the page of one tenant."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone

from cluster import clock
from cluster.models import CapacityState, Job, JobState
from cluster.pages.csv_file import csv_file
from cluster.pages.page import page, render_page
from cluster.selectors import usage
from cluster.selectors.queue import QueueFilter, queue
from cluster.selectors.standing import Standing, standings
from cluster.selectors.tenant_tree import below
from tenancy.models import Membership, Tenant
from tenancy.permissions import Action, Grants

PARTS = {"tree": "cluster/tenants/tree.html"}
TENANT_PARTS = {name: f"cluster/tenants/{name}.html" for name in ("lines", "jobs", "bill")}
CSV_HEAD = (
    "tenant",
    "organisation",
    "gpu_model",
    "entitled",
    "used",
    "busy",
    "borrowed",
    "lent",
    "idle_entitlement",
    "lending_limit",
    "borrowing_limit",
    "weight",
    "waiting_jobs",
    "waiting_gpus",
)
_MOST_JOBS = 25


class Tenants:
    @cached_property
    def standings(self) -> list[Standing]:
        return standings()

    @cached_property
    def totals(self) -> dict[str, int]:
        top = [s for s in self.standings if s.depth == 0]
        names = ("entitled", "used", "borrowed", "lent", "waiting_jobs", "waiting_gpus")
        return {name: sum(s.total(name) for s in top) for name in names}


@page
def tenants_page(request: HttpRequest) -> HttpResponse:
    shown = Tenants()
    if request.GET.get("format") == "csv":
        return csv_file("tenants", CSV_HEAD, _csv_rows(shown))
    context = {"tenants": shown}
    return render_page(
        request, "cluster/tenants.html", context, here="tenants", topics=("tenants", "capacity"), parts=PARTS
    )


def _csv_rows(shown: Tenants) -> Iterator[tuple[Any, ...]]:
    for each in shown.standings:
        parent = each.tenant.parent.name if each.tenant.parent else None
        for line in each.rows:
            yield (
                each.tenant.name,
                parent,
                line.model,
                line.entitled,
                line.used,
                line.busy,
                line.borrowed,
                line.lent,
                line.idle_entitlement,
                line.lending_limit,
                line.borrowing_limit,
                each.tenant.weight,
                line.waiting_jobs,
                line.waiting_gpus,
            )


class TenantShown:
    """One tenant; an organisation with everything below it."""

    def __init__(self, tenant: Tenant, grants: Grants, now: datetime) -> None:
        self.tenant, self.grants, self.now = tenant, grants, now

    @cached_property
    def standing(self) -> Standing:
        return next(s for s in standings() if s.tenant.pk == self.tenant.pk)

    @cached_property
    def below(self) -> set[int]:
        """The ids of the tenant and of all below it."""
        return below(self.tenant)

    @property
    def may_see_jobs(self) -> bool:
        return self.grants.may(Action.SEE_JOB, self.tenant.pk)

    @cached_property
    def jobs(self) -> list[Job]:
        """Jobs that run or wait, those that run first."""
        found = queue(QueueFilter(tab="all"), self.grants).filter(
            tenant_id__in=self.below, state__in=(JobState.PENDING, JobState.ACTIVE)
        )
        return list(found.order_by("state", "-gpus", "queued_at", "id")[:_MOST_JOBS])

    @cached_property
    def job_counts(self) -> dict[str, int]:
        mine = Job.objects.filter(tenant_id__in=self.below)
        return {
            "waiting": mine.filter(state=JobState.PENDING).count(),
            "running": mine.filter(state=JobState.ACTIVE).count(),
        }

    @cached_property
    def bill(self) -> list[dict[str, Any]]:
        """GPU-hours and cost by state, for today, the last day and the last week."""
        midnight = timezone.localtime(self.now).replace(hour=0, minute=0, second=0, microsecond=0)
        windows = {
            "today": midnight,
            "day": self.now - timedelta(days=1),
            "week": self.now - timedelta(days=7),
        }
        used = {name: usage.usage_of(start, self.now) for name, start in windows.items()}
        held = (
            CapacityState.BUSY,
            CapacityState.STARTING,
            CapacityState.IDLE_ALLOCATED,
            CapacityState.UNKNOWN_ALLOCATED,
        )
        rows = [
            {
                "state": s.value,
                "label": s.label,
                "cells": [
                    (used[w].hours_of(s, tenants=self.below), used[w].usd_of(s, tenants=self.below))
                    for w in windows
                ],
            }
            for s in held
        ]
        total = [(used[w].hours_of(tenants=self.below), used[w].usd_of(tenants=self.below)) for w in windows]
        loans = [(sum(used[w].loan_gpu_hours.get(pk, 0.0) for pk in self.below), None) for w in windows]
        return [
            *rows,
            {"state": "", "label": "all", "cells": total},
            {"state": "loan", "label": "of it on loan", "cells": loans},
        ]

    @cached_property
    def people(self) -> list[Membership]:
        rows = Membership.objects.filter(tenant=self.tenant).select_related("user")
        return list(rows.order_by("role", "user__username"))


@page
def tenant_page(request: HttpRequest, name: str) -> HttpResponse:
    tenant = get_object_or_404(Tenant.objects.select_related("parent"), name=name)
    shown = TenantShown(tenant, request.grants, clock.now())  # type: ignore[attr-defined]
    context = {"shown": shown, "tenant": tenant}
    topics = (f"tenant:{name}", "queue", "capacity")
    return render_page(
        request, "cluster/tenant.html", context, here="tenants", topics=topics, parts=TENANT_PARTS
    )
