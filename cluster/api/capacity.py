"""Capacity: where every GPU is now and was before, what is busy, what is wasted, what would fit."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.db.models import Q
from django.http import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from cluster import clock
from cluster.api.capacity_rows import (
    AveragesRow,
    CapacityRow,
    FitRow,
    IntervalFilter,
    IntervalRow,
    StateRow,
)
from cluster.api.csv_lines import csv_answer
from cluster.api.pagination import Pages, whole_number
from cluster.api.viewset import Resource
from cluster.api.window import FROM, TO, window
from cluster.models import CapacityState, UsageInterval
from cluster.selectors.capacity import MEANING, WASTED, Capacity, capacity_now
from cluster.selectors.freshness import freshness
from cluster.selectors.history import MOST_STEPS, capacity_history
from cluster.selectors.placeable import SHAPES, fits, free_nodes
from fleet.models import GpuModel

GPU_MODEL = OpenApiParameter("gpu_model", str, description="Of this GPU model only.")
GPUS = OpenApiParameter(
    "gpus",
    {"type": "integer", "minimum": 1, "maximum": 1_000_000},  # type: ignore[arg-type]
    description=f"Size of the gang; usually the answer is for {', '.join(map(str, SHAPES))}.",
)
RATIOS = {
    "busy_of_installed": ("busy GPUs", "all installed GPUs", "installed"),
    "busy_of_eligible": ("busy GPUs", "installed GPUs but the unavailable ones", "eligible"),
    "busy_of_allocated": ("busy GPUs", "GPUs held by gangs: busy, idle, unknown and starting", "allocated"),
}


class CapacityResource(Resource):
    """Eight states; at each instant every installed GPU is in exactly one of them."""

    queryset = UsageInterval.objects.select_related("gpu_model", "tenant")
    serializer_class = StateRow
    filter_backends = ()
    pagination_class = None
    orderings = {}
    csv_actions = frozenset({"list", "history", "placeable"})

    @extend_schema(operation_id="capacity_now", responses=CapacityRow, parameters=[GPU_MODEL])
    def list(self, request: Request, **kwargs: Any) -> HttpResponseBase:
        """Now: each state, each ratio with its denominator, and the waste in US dollars an hour."""
        self.refuse_unknown_parameters("gpu_model")
        fresh = freshness()
        found = capacity_now(_gpu_model(request))
        states = list(_states(found))
        if request.accepted_renderer.format == "csv":
            shown = StateRow(states, many=True).data
            return csv_answer(request._request, "capacity", list(StateRow().fields), shown)
        answer = {
            "as_of": fresh.as_of,
            "tick": fresh.tick,
            "age_s": fresh.age_s,
            "is_stale": fresh.is_stale,
            "installed": found.installed,
            "eligible": found.eligible,
            "allocated": found.allocated,
            "free": found.free,
            "states": states,
            "ratios": [_ratio(found, name) for name in RATIOS],
            "waste": {
                "gpus": found.wasted,
                "usd_per_hour": found.wasted_usd_per_hour,
                "states": [state.value for state in WASTED],
            },
            "by_model": [{"gpu_model": model, **counts} for model, counts in sorted(found.by_model.items())],
        }
        return Response(CapacityRow(answer).data)

    @extend_schema(responses=FitRow(many=True), parameters=[GPUS, GPU_MODEL])
    @action(detail=False, serializer_class=FitRow, pagination_class=Pages)
    def placeable(self, request: Request, **kwargs: Any) -> HttpResponseBase:
        """How many gangs of a shape would fit side by side now. Free GPUs alone do not say."""
        self.refuse_unknown_parameters("gpus", "gpu_model")
        model = _gpu_model(request)
        asked = whole_number(request, "gpus", least=1, most=1_000_000, default=0)
        nodes = [node for node in free_nodes() if not model or node.model == model]
        return self.listed(fits(nodes, (asked,) if asked else SHAPES), "gpus", "gpu_model")

    @extend_schema(responses=IntervalRow(many=True), parameters=[FROM, TO])
    @action(
        detail=False,
        serializer_class=IntervalRow,
        pagination_class=Pages,
        filterset_class=IntervalFilter,
        filter_backends=Resource.filter_backends,
        orderings={"id": "id", "started_at": "started_at", "ended_at": "ended_at", "gpus": "gpus"},
        default_ordering="started_at",
    )
    def history(self, request: Request, **kwargs: Any) -> HttpResponseBase:
        """The intervals that overlap the window: so many GPUs were in one state for one holder, from, to."""
        start, end = window(request, clock.now())
        rows = self.get_queryset().filter(Q(ended_at=None) | Q(ended_at__gt=start), started_at__lt=end)
        return self.listed(rows, "from", "to")

    @extend_schema(
        responses=AveragesRow,
        parameters=[
            FROM,
            TO,
            GPU_MODEL,
            OpenApiParameter(
                "steps",
                {"type": "integer", "minimum": 1, "maximum": MOST_STEPS},  # type: ignore[arg-type]
                description="Equal steps that the window is cut into.",
            ),
        ],
    )
    @action(detail=False)
    def averages(self, request: Request, **kwargs: Any) -> Response:
        """Mean GPUs in each state over equal steps: what the chart draws."""
        self.refuse_unknown_parameters("from", "to", "steps", "gpu_model")
        steps = whole_number(request, "steps", least=1, most=MOST_STEPS, default=60)
        start, end = window(request, clock.now())
        hours = (end - start) / timedelta(hours=1)
        found = capacity_history(end, hours, _gpu_model(request), steps)
        gpus = found.gpus or {state: [] for state in CapacityState.values}
        answer = {"starts": found.starts, "step_s": found.step / timedelta(seconds=1), "gpus": gpus}
        return Response(AveragesRow(answer).data)


def _gpu_model(request: Request) -> str:
    """Raises ValidationError for a model that does not exist."""
    name = request.query_params.get("gpu_model", "")
    if name and ("\x00" in name or not GpuModel.objects.filter(name=name).exists()):
        raise ValidationError({"gpu_model": f"there is no GPU model {name!r}"})
    return name


def _states(found: Capacity) -> Iterator[dict[str, Any]]:
    for state in CapacityState:
        yield {
            "state": state.value,
            "meaning": MEANING[state],
            "gpus": found.gpus[state],
            "share_of_installed": found.gpus[state] / found.installed if found.installed else None,
            "usd_per_hour": found.usd_per_hour[state],
        }


def _ratio(found: Capacity, name: str) -> dict[str, Any]:
    numerator, denominator, whole = RATIOS[name]
    return {
        "name": name,
        "value": getattr(found, name),
        "numerator": numerator,
        "numerator_gpus": found.busy,
        "denominator": denominator,
        "denominator_gpus": getattr(found, whole),
    }
