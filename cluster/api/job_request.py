"""What a tenant states when it submits a job, and what the actions on a job take."""

import json
from datetime import datetime
from typing import Any

from rest_framework import serializers

from cluster import clock
from cluster.api.fields import Closed, Name, Text, Word
from cluster.models import Kind, Locality, Objective, Tier
from fleet.models import GpuModel
from tenancy.models import Tenant

MOST = 2**31 - 1
LARGEST_WORKLOAD_BYTES = 16_384
DEEPEST_WORKLOAD = 16
LATEST_YEARS = 10
EARLIEST_YEAR = 1970


def _count(*, least: int = 0, **kwargs: Any) -> serializers.IntegerField:
    return serializers.IntegerField(min_value=least, max_value=MOST, required=False, **kwargs)


class JobRequest(Closed):
    """Give `gpus`, or `nodes` and `gpus_per_node`. What is left out has its usual value."""

    tenant = Name(queryset=Tenant.objects.all(), help_text="Who asks.")
    name = Text(max_length=128)
    gpus = _count(least=1, allow_null=True, help_text="GPUs of the whole gang.")
    nodes = _count(least=1, allow_null=True)
    gpus_per_node = _count(least=1, allow_null=True)
    gpu_model = Name(
        queryset=GpuModel.objects.all(),
        required=False,
        allow_null=True,
        help_text="Usually the one that the tenant is entitled to most of.",
    )
    tier = Word(Tier, required=False)
    kind = Word(Kind, required=False)
    locality_required = Word(Locality, required=False)
    locality_preferred = Word(Locality, required=False)
    objective = Word(
        Objective,
        required=False,
        help_text="Where it may start now, spread out, or later on a closer set: what counts.",
    )
    deadline = serializers.DateTimeField(
        required=False, allow_null=True, help_text="Wanted done by; goes with the objective deadline."
    )
    expected_duration_s = serializers.IntegerField(min_value=1, max_value=MOST)
    time_limit_s = _count(least=1, allow_null=True, help_text="Null: no limit.")
    preemptible = serializers.BooleanField(required=False)
    checkpoint_on_signal = serializers.BooleanField(required=False)
    checkpoint_interval_s = _count(least=1, allow_null=True, help_text="Null: none of its own.")
    checkpoint_cost_s = _count()
    grace_s = _count(help_text="From checkpoint signal to stop, at the most.")
    restart_cost_s = _count()
    readiness_timeout_s = _count(least=1)
    retry_limit = _count()
    preemption_budget = _count()
    gpu_draw_w = serializers.FloatField(
        min_value=1,
        max_value=1e5,
        required=False,
        allow_null=True,
        help_text="Expected draw of one GPU at work in watts; null: what its model usually draws.",
    )
    dataset = Text(max_length=200, required=False, allow_blank=True)
    dataset_gb = serializers.FloatField(min_value=0, max_value=1e9, required=False, allow_null=True)
    code_version = Text(max_length=200, required=False, allow_blank=True)
    not_before = serializers.DateTimeField(required=False, allow_null=True)
    workload = serializers.DictField(required=False, help_text="Passed to the engine as it is.")

    def validate_workload(self, value: dict[str, Any]) -> dict[str, Any]:
        size = len(json.dumps(value))
        if size > LARGEST_WORKLOAD_BYTES:
            raise serializers.ValidationError(f"{size} bytes are too many: at most {LARGEST_WORKLOAD_BYTES}")
        _check_storable(value, DEEPEST_WORKLOAD)
        return value

    def validate_not_before(self, value: datetime | None) -> datetime | None:
        if value is not None and not EARLIEST_YEAR <= value.year <= clock.now().year + LATEST_YEARS:
            raise serializers.ValidationError(
                f"it is more than {LATEST_YEARS} years from now, or before 1970"
            )
        return value


def _check_storable(value: Any, depth: int) -> None:
    """Raises ValidationError for what a database cannot keep as JSON."""
    if depth == 0:
        raise serializers.ValidationError(f"it is nested more than {DEEPEST_WORKLOAD} levels deep")
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        raise serializers.ValidationError("a number in it is too large")
    if isinstance(value, str) and ("\x00" in value or any("\ud800" <= c <= "\udfff" for c in value)):
        raise serializers.ValidationError("a text in it holds a character that cannot be stored")
    if isinstance(value, dict):
        for key, inner in value.items():
            _check_storable(key, depth)
            _check_storable(inner, depth - 1)
    elif isinstance(value, list):
        for inner in value:
            _check_storable(inner, depth - 1)


class ActionRequest(Closed):
    """Act on the job only as it was read: with another `version` by now, the answer is 409."""

    version = serializers.IntegerField(
        min_value=1,
        max_value=MOST,
        required=False,
        help_text="The version that was read; leave out to act anyway.",
    )


class HoldRequest(ActionRequest):
    reason = Text(max_length=200, help_text="Why: whoever waits for it will read it.")
