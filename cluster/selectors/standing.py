"""How each tenant stands: entitled, used, borrowed, lent and waiting, by GPU model, over the tree."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import Count, Sum

from cluster.models import Job, JobState, UsageInterval
from cluster.selectors.capacity import ALLOCATED
from tenancy.models import Entitlement, Tenant


@dataclass
class Line:
    """One tenant and one GPU model, in GPUs. `entitled` is None where no entitlement is stated."""

    model: str
    entitled: int | None = None
    lending_limit: int | None = None
    borrowing_limit: int | None = None
    used: int = 0
    busy: int = 0
    borrowed: int = 0
    lent: int = 0
    waiting_gpus: int = 0
    waiting_jobs: int = 0

    @property
    def own_use(self) -> int:
        return self.used - self.borrowed

    @property
    def idle_entitlement(self) -> int:
        return max(0, (self.entitled or 0) - self.own_use)

    @property
    def lendable(self) -> int:
        """Idle entitlement within the lending limit, lent already or not."""
        return (
            self.idle_entitlement
            if self.lending_limit is None
            else min(self.lending_limit, self.idle_entitlement)
        )

    @property
    def scale(self) -> int:
        """What the tenant's bar is drawn against."""
        return max(self.entitled or 0, self.used, 1)


@dataclass
class Standing:
    """A tenant in its place in the tree; an organisation's lines contain those of its teams."""

    tenant: Tenant
    depth: int
    lines: dict[str, Line] = field(default_factory=dict)
    is_group: bool = False

    @property
    def rows(self) -> list[Line]:
        return [self.lines[model] for model in sorted(self.lines)]

    def total(self, name: str) -> int:
        return sum(getattr(line, name) or 0 for line in self.lines.values())


def standings() -> list[Standing]:
    """All tenants, parents before their children, in four queries."""
    tenants = list(Tenant.objects.order_by("name"))
    ordered = _walk(tenants)
    lines: dict[int, dict[str, Line]] = defaultdict(dict)
    for row in Entitlement.objects.all():
        line = _line(lines, row.tenant_id, row.gpu_model)
        line.entitled, line.lending_limit, line.borrowing_limit = (
            row.gpus,
            row.lending_limit,
            row.borrowing_limit,
        )
    _add_use(lines)
    _add_waiting(lines)
    groups = {tenant.parent_id for tenant in tenants}
    _attribute_loans({pk: lines[pk] for pk in list(lines) if pk not in groups}, _installed())
    found = [Standing(tenant, depth, lines[tenant.pk], tenant.pk in groups) for tenant, depth in ordered]
    _roll_up(found)
    return found


def _line(lines: dict[int, dict[str, Line]], tenant_id: int, model: str) -> Line:
    return lines[tenant_id].setdefault(model, Line(model))


def _walk(tenants: Sequence[Tenant]) -> list[tuple[Tenant, int]]:
    children: dict[int | None, list[Tenant]] = defaultdict(list)
    for tenant in tenants:
        children[tenant.parent_id].append(tenant)
    found: list[tuple[Tenant, int]] = []

    def visit(parent_id: int | None, depth: int) -> None:
        for tenant in children[parent_id]:
            found.append((tenant, depth))
            visit(tenant.pk, depth + 1)

    visit(None, 0)
    return found


def _add_use(lines: dict[int, dict[str, Line]]) -> None:
    rows = UsageInterval.objects.filter(ended_at__isnull=True, state__in=ALLOCATED, tenant__isnull=False)
    totals = (
        rows.order_by()
        .values("tenant_id", "gpu_model__name", "state")
        .annotate(n=Sum("gpus"), loan=Sum("loan_gpus"))
    )
    for row in totals:
        line = _line(lines, row["tenant_id"], row["gpu_model__name"])
        line.used += row["n"]
        line.borrowed += row["loan"]
        if row["state"] == "busy":
            line.busy += row["n"]


def _add_waiting(lines: dict[int, dict[str, Line]]) -> None:
    waiting = Job.objects.filter(state=JobState.PENDING).order_by().values("tenant_id", "gpu_model__name")
    for row in waiting.annotate(n=Sum("gpus"), jobs=Count("id")):
        line = _line(lines, row["tenant_id"], row["gpu_model__name"])
        line.waiting_gpus, line.waiting_jobs = row["n"], row["jobs"]


def _installed() -> dict[str, int]:
    rows = UsageInterval.objects.filter(ended_at__isnull=True).order_by().values_list("gpu_model__name")
    return dict(rows.annotate(n=Sum("gpus")))


def _attribute_loans(lines: Mapping[int, Mapping[str, Line]], installed: Mapping[str, int]) -> None:
    """Loans come out of one pool, filled by the tenants that submit, not by their groups.

    A lender's part of the pool follows its idle entitlement, in whole GPUs.
    """
    for model in installed:
        rows = [by_model[model] for by_model in lines.values() if model in by_model]
        on_loan = sum(line.borrowed for line in rows)
        nobodys = max(0, installed[model] - sum(line.entitled or 0 for line in rows))
        parts = share_out(on_loan, [nobodys, *(line.lendable for line in rows)])
        for line, part in zip(rows, parts[1:], strict=True):
            line.lent = part


def share_out(whole: int, weights: Sequence[int]) -> list[int]:
    """`whole` cut in proportion to the weights, by largest remainders. All zero where there is no weight."""
    total = sum(weights)
    if not total:
        return [0] * len(weights)
    exact = [whole * weight / total for weight in weights]
    parts = [int(value) for value in exact]
    order = sorted(range(len(weights)), key=lambda i: (parts[i] - exact[i], i))
    for i in order[: whole - sum(parts)]:
        parts[i] += 1
    return parts


def _roll_up(found: Sequence[Standing]) -> None:
    """Children into their parents, deepest first. A parent's own stated entitlement stands."""
    by_id = {standing.tenant.pk: standing for standing in found}
    for standing in reversed(found):
        parent = by_id.get(standing.tenant.parent_id or 0)
        if parent is None:
            continue
        for line in standing.lines.values():
            above = parent.lines.setdefault(line.model, Line(line.model))
            for name in ("used", "busy", "borrowed", "lent", "waiting_gpus", "waiting_jobs"):
                setattr(above, name, getattr(above, name) + getattr(line, name))
    for standing in reversed(found):
        if standing.is_group:
            _sum_entitlements(standing, [s for s in found if s.tenant.parent_id == standing.tenant.pk])


def _sum_entitlements(parent: Standing, children: Iterable[Standing]) -> None:
    below = list(children)
    for model, line in parent.lines.items():
        stated = [
            s.lines[model].entitled for s in below if model in s.lines and s.lines[model].entitled is not None
        ]
        if line.entitled is None and stated:
            line.entitled = sum(n for n in stated if n is not None)
