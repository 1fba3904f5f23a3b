"""GPU-hours and cost of a window, exact, by tenant, state and GPU model."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.http import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_serializer
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from cluster import clock
from cluster.api.csv_lines import csv_answer
from cluster.api.viewset import Resource
from cluster.api.window import FROM, TO, window
from cluster.models import CapacityState
from cluster.selectors.usage_report import Amount, Key, UsageReport, usage_report

KEYS = ("tenant", "state", "gpu_model")
GROUPINGS = (
    "tenant",
    "state",
    "gpu_model",
    "tenant,state",
    "tenant,gpu_model",
    "state,gpu_model",
    ",".join(KEYS),
)
BY = OpenApiParameter(
    "by",
    str,
    enum=GROUPINGS,
    description="What the rows are split by; usually all of tenant,state,gpu_model.",
)


class UsageRow(serializers.Serializer):
    """`tenant` is null for GPUs that no tenant held, and each key that the rows are not split by is null."""

    tenant = serializers.CharField(allow_null=True)
    state = serializers.ChoiceField(CapacityState.choices, allow_null=True)
    gpu_model = serializers.CharField(allow_null=True)
    gpu_seconds = serializers.DecimalField(max_digits=24, decimal_places=6, help_text="Exact.")
    gpu_hours = serializers.FloatField()
    loan_gpu_hours = serializers.FloatField(help_text="Of them, on loan.")
    cost_usd = serializers.DecimalField(max_digits=24, decimal_places=6)


class LevelRow(serializers.Serializer):
    start = serializers.DateTimeField()
    end = serializers.DateTimeField()
    gpus = serializers.IntegerField()


class IdentityRow(serializers.Serializer):
    """The check: at each instant every installed GPU is in exactly one state."""

    installed_gpus = serializers.IntegerField(help_text="Counted in the fleet, not in the usage.")
    window_h = serializers.FloatField()
    installed_x_window_gpu_seconds = serializers.DecimalField(max_digits=24, decimal_places=6)
    sum_of_states_gpu_seconds = serializers.DecimalField(max_digits=24, decimal_places=6)
    difference_gpu_seconds = serializers.DecimalField(max_digits=24, decimal_places=6)
    holds = serializers.BooleanField(
        allow_null=True, help_text="Null: nodes came or went within the window; compare level by level."
    )
    levels = LevelRow(
        many=True, help_text="GPUs accounted for over time: one level, unless the fleet changed."
    )


@extend_schema_serializer(many=False)
class UsageAnswer(serializers.Serializer):
    start = serializers.DateTimeField(
        help_text="No earlier than the first record: before it nothing is known."
    )
    end = serializers.DateTimeField()
    rows = UsageRow(many=True)
    total = UsageRow(help_text="Of the whole cluster, whatever the rows are split by.")
    identity = IdentityRow()


class UsageResource(Resource):
    """Sums to installed × window, to the microsecond; the answer holds the figures to check that by."""

    serializer_class = UsageRow
    filter_backends = ()
    pagination_class = None
    orderings = {}

    @extend_schema(operation_id="usage", responses=UsageAnswer, parameters=[FROM, TO, BY])
    def list(self, request: Request, **kwargs: Any) -> HttpResponseBase:
        self.refuse_unknown_parameters("from", "to", "by")
        by = _grouping(request)
        report = usage_report(*window(request, clock.now()))
        rows = [_row(key, amount) for key, amount in sorted(_grouped(report, by).items(), key=_order)]
        if request.accepted_renderer.format == "csv":
            shown = UsageRow(rows, many=True).data
            return csv_answer(request._request, "usage", list(UsageRow().fields), shown)
        answer = {
            "start": report.start,
            "end": report.end,
            "rows": rows,
            "total": _row((None, None, None), _sum(report)),
            "identity": _identity(report),
        }
        return Response(UsageAnswer(answer).data)


Group = tuple[str | None, ...]


def _grouping(request: Request) -> set[str]:
    asked = request.query_params.get("by", "") or ",".join(KEYS)
    names = [name.strip() for name in asked.split(",")]
    unknown = [name for name in names if name not in KEYS]
    if unknown:
        raise ValidationError(
            {"by": f"{unknown[0]!r} is not known; allowed: {', '.join(KEYS)}, one or several"}
        )
    return set(names)


def _grouped(report: UsageReport, by: set[str]) -> dict[Group, Amount]:
    found: dict[Group, Amount] = {}
    for key, amount in report.amounts.items():
        group = tuple(part if name in by else None for name, part in zip(KEYS, key, strict=True))
        _add(found.setdefault(group, Amount()), amount)
    return found


def _sum(report: UsageReport) -> Amount:
    total = Amount()
    for amount in report.amounts.values():
        _add(total, amount)
    return total


def _add(to: Amount, amount: Amount) -> None:
    to.gpu_us += amount.gpu_us
    to.loan_gpu_us += amount.loan_gpu_us
    to.priced += amount.priced


def _order(item: tuple[Group | Key, Amount]) -> tuple[str, ...]:
    return tuple(part or "" for part in item[0])


def _row(key: Group, amount: Amount) -> dict[str, Any]:
    measured = {
        name: getattr(amount, name) for name in ("gpu_seconds", "gpu_hours", "loan_gpu_hours", "cost_usd")
    }
    return {**dict(zip(KEYS, key, strict=True)), **measured}


def _identity(report: UsageReport) -> dict[str, Any]:
    whole, found = report.installed_gpu_us, report.sum_gpu_us
    return {
        "installed_gpus": report.installed_gpus,
        "window_h": (report.end - report.start) / timedelta(hours=1),
        "installed_x_window_gpu_seconds": _seconds(whole),
        "sum_of_states_gpu_seconds": _seconds(found),
        "difference_gpu_seconds": _seconds(found - whole),
        "holds": report.holds,
        "levels": report.levels,
    }


def _seconds(microseconds: int) -> Decimal:
    return Amount(gpu_us=microseconds).gpu_seconds
