"""The queue: which jobs wait, run or are over, by filter; in an order that never changes by itself."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any
from urllib.parse import urlencode

from django.db.models import Case, Count, F, IntegerField, Prefetch, Q, QuerySet, Sum, Value, When

from cluster.models import Decision, Job, JobState, Run, RunState
from cluster.scheduler.words import Constraint, Tier
from tenancy.permissions import Action, Grants

TABS = {
    "waiting": (JobState.PENDING,),
    "running": (JobState.ACTIVE,),
    "over": (JobState.COMPLETED, JobState.FAILED, JobState.CANCELLED),
    "all": tuple(JobState),
}
_TIER_ORDER = Case(
    *(When(tier=tier.value, then=Value(tier.rank)) for tier in Tier),
    default=Value(9),
    output_field=IntegerField(),
)
SORTS: Mapping[str, tuple[Any, ...]] = {
    "age": ("queued_at", "id"),
    "-age": ("-queued_at", "-id"),
    "gpus": ("gpus", "queued_at", "id"),
    "-gpus": ("-gpus", "queued_at", "id"),
    "tenant": ("tenant__name", "queued_at", "id"),
    "-tenant": ("-tenant__name", "queued_at", "id"),
    "tier": (_TIER_ORDER.asc(), "queued_at", "id"),
    "-tier": (_TIER_ORDER.desc(), "queued_at", "id"),
    "start": (F("forecast__median_at").asc(nulls_last=True), "queued_at", "id"),
    "-start": (F("forecast__median_at").desc(nulls_last=True), "queued_at", "id"),
    "ended": (F("ended_at").asc(nulls_last=True), "id"),
    "-ended": (F("ended_at").desc(nulls_last=True), "-id"),
}


@dataclass(frozen=True)
class QueueFilter:
    """What is asked for. Empty = all. Every field is a query parameter of page, CSV and API."""

    tab: str = "waiting"
    tenant: str = ""
    tier: str = ""
    state: str = ""
    reason: str = ""
    model: str = ""
    text: str = ""
    sort: str = ""

    @classmethod
    def read(cls, params: Mapping[str, str]) -> "QueueFilter":
        """Raises ValueError that names the parameter, the value and what is allowed."""
        values = {f.name: params.get(f.name, "").strip() for f in fields(cls)}
        values["tab"] = values["tab"] or "waiting"
        for name, allowed in _ALLOWED.items():
            if values[name] and values[name] not in allowed:
                raise ValueError(f"{name}={values[name]!r} is not known; allowed: {', '.join(allowed)}")
        return cls(**values)

    @property
    def is_narrowed(self) -> bool:
        return any((self.tenant, self.tier, self.state, self.reason, self.model, self.text))

    @property
    def order(self) -> str:
        return self.sort or ("-ended" if self.tab == "over" else "age")

    def query(self, **changes: str) -> str:
        """The query string of this filter with some fields changed; empty fields stay out."""
        changed = replace(self, **changes)
        return urlencode(
            {f.name: v for f in fields(self) if (v := getattr(changed, f.name)) and v != f.default}
        )


_ALLOWED: Mapping[str, tuple[str, ...]] = {
    "tab": tuple(TABS),
    "tier": tuple(t.value for t in Tier),
    "state": tuple(JobState.values),
    "reason": tuple(c.value for c in Constraint),
    "sort": tuple(SORTS),
}


def queue(wanted: QueueFilter, grants: Grants) -> QuerySet[Job]:
    """The jobs, ordered, with tenant, owner, model, forecast, open decision and open run at hand."""
    open_decision = Decision.objects.filter(superseded_at__isnull=True).select_related("explanation")
    open_runs = Run.objects.exclude(state=RunState.ENDED)
    return (
        _narrow(Job.objects.filter(state__in=TABS[wanted.tab]), wanted, grants)
        .select_related("tenant", "owner", "gpu_model", "forecast")
        .prefetch_related(
            Prefetch("decisions", queryset=open_decision, to_attr="open_decisions"),
            Prefetch("runs", queryset=open_runs, to_attr="open_runs"),
        )
        .order_by(*SORTS[wanted.order])
    )


def _narrow(jobs: QuerySet[Job], wanted: QueueFilter, grants: Grants) -> QuerySet[Job]:
    for field, value in (
        ("tenant__name", wanted.tenant),
        ("tier", wanted.tier),
        ("state", wanted.state),
        ("gpu_model__name", wanted.model),
    ):
        if value:
            jobs = jobs.filter(**{field: value})
    if wanted.reason:
        jobs = jobs.filter(
            pk__in=Decision.objects.filter(superseded_at__isnull=True, constraint=wanted.reason).values(
                "job_id"
            )
        )
    return jobs.filter(_matches(wanted.text, grants)) if wanted.text else jobs


def _matches(text: str, grants: Grants) -> Q:
    """By number for everybody; by name or owner only where the reader may see these."""
    number = Q(pk=int(text)) if text.isdecimal() and len(text) < 19 else Q(pk__in=())
    named = Q(name__icontains=text) | Q(owner__username__icontains=text)
    return (
        number | Q(tenant__name__icontains=text) | (Q(tenant_id__in=grants.tenants(Action.SEE_JOB)) & named)
    )


@dataclass(frozen=True)
class Reason:
    """How many waiting jobs one constraint binds, and the GPUs they ask for."""

    constraint: str
    jobs: int
    gpus: int


def reasons(wanted: QueueFilter, grants: Grants) -> list[Reason]:
    """Waiting jobs by what binds, over everything else the filter says; in order of precedence."""
    waiting = _narrow(Job.objects.filter(state=JobState.PENDING), replace(wanted, reason=""), grants)
    rows = Decision.objects.filter(superseded_at__isnull=True, job__in=waiting.order_by()).order_by()
    totals = {
        row["constraint"]: row
        for row in rows.values("constraint").annotate(jobs=Count("id"), gpus=Sum("job__gpus"))
    }
    return [Reason(c.value, totals[c]["jobs"], totals[c]["gpus"]) for c in Constraint if c in totals]


def tab_counts(wanted: QueueFilter, grants: Grants) -> dict[str, int]:
    """Jobs under each tab, for the other fields of the filter."""
    rows = _narrow(Job.objects.all(), wanted, grants).order_by().values_list("state").annotate(n=Count("id"))
    by_state = dict(rows)
    return {tab: sum(by_state.get(state, 0) for state in states) for tab, states in TABS.items()}


@dataclass(frozen=True)
class HeadRow:
    """A waiting job, and how many like it (same tenant, tier, gang and reason) wait right behind it."""

    job: Job
    alike: int = 0


def queue_head(grants: Grants, limit: int = 8, look: int = 64) -> list[HeadRow]:
    """The waiting jobs as they are served, by tier, then by age; a sweep of equal jobs is one row."""
    rows: list[HeadRow] = []
    for job in queue(QueueFilter(sort="tier"), grants)[:look]:
        if rows and _likeness(rows[-1].job) == _likeness(job):
            rows[-1] = replace(rows[-1], alike=rows[-1].alike + 1)
        elif len(rows) == limit:
            break
        else:
            rows.append(HeadRow(job))
    return rows


def _likeness(job: Job) -> tuple[Any, ...]:
    held = [decision.explanation_id for decision in job.open_decisions]  # type: ignore[attr-defined]
    return (job.tenant_id, job.owner_id, job.tier, job.gpus, job.gpu_model_id, held)


def positions() -> dict[int, int]:
    """Job id → its place among the waiting jobs, from 1, by tier and age."""
    ordered = Job.objects.filter(state=JobState.PENDING).order_by(*SORTS["tier"]).values_list("pk", flat=True)
    return {pk: place for place, pk in enumerate(ordered, 1)}
