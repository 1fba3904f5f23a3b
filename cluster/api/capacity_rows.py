"""Capacity as the API shows it."""

from django_filters import rest_framework as filters
from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from cluster.api.fields import Name, Row
from cluster.api.filters import GpuModelFilter, OpenFilter, TenantFilter, WholeFilter, WordsFilter
from cluster.models import CapacityState, UsageInterval

USD = {"max_digits": 20, "decimal_places": 4}


class StateRow(serializers.Serializer):
    state = serializers.ChoiceField(CapacityState.choices)
    meaning = serializers.CharField()
    gpus = serializers.IntegerField()
    share_of_installed = serializers.FloatField(allow_null=True)
    usd_per_hour = serializers.DecimalField(**USD)


class RatioRow(serializers.Serializer):
    name = serializers.CharField()
    value = serializers.FloatField(allow_null=True, help_text="Null: the denominator is 0.")
    numerator = serializers.CharField(help_text="In words.")
    numerator_gpus = serializers.IntegerField()
    denominator = serializers.CharField(help_text="In words.")
    denominator_gpus = serializers.IntegerField()


class WasteRow(serializers.Serializer):
    """Paid for, wanted, and of no use to anybody."""

    gpus = serializers.IntegerField()
    usd_per_hour = serializers.DecimalField(**USD)
    states = serializers.ListField(child=serializers.CharField(), help_text="The states that count as waste.")


class ModelRow(serializers.Serializer):
    """GPUs of one model by state."""

    gpu_model = serializers.CharField()
    busy = serializers.IntegerField()
    idle_allocated = serializers.IntegerField()
    unknown_allocated = serializers.IntegerField()
    starting = serializers.IntegerField()
    reserved = serializers.IntegerField()
    placeable = serializers.IntegerField()
    stranded = serializers.IntegerField()
    unavailable = serializers.IntegerField()


@extend_schema_serializer(many=False)
class CapacityRow(serializers.Serializer):
    as_of = serializers.DateTimeField(allow_null=True, help_text="The last tick, on the engine's clock.")
    tick = serializers.IntegerField(allow_null=True)
    age_s = serializers.FloatField(allow_null=True, help_text="Wall-clock seconds since that tick.")
    is_stale = serializers.BooleanField(help_text="Too old to be relied on.")
    installed = serializers.IntegerField()
    eligible = serializers.IntegerField()
    allocated = serializers.IntegerField()
    free = serializers.IntegerField()
    states = StateRow(many=True)
    ratios = RatioRow(many=True)
    waste = WasteRow()
    by_model = ModelRow(many=True)


class FitRow(serializers.Serializer):
    """How many gangs of this size fit now."""

    gpu_model = serializers.CharField(source="model")
    gpus = serializers.IntegerField(help_text="GPUs of one gang.")
    nodes = serializers.IntegerField(help_text="Nodes that one gang needs.")
    gangs_anywhere = serializers.IntegerField(source="anywhere")
    gangs_in_one_block = serializers.IntegerField(
        source="in_one_block", help_text="Each of them within one block."
    )
    largest_block_gpus = serializers.IntegerField(
        help_text="On whole free nodes of the block with most of them."
    )


class IntervalRow(Row):
    gpu_model = Name()
    tenant = Name(allow_null=True)
    job = serializers.IntegerField(source="job_id", allow_null=True)
    run = serializers.IntegerField(source="run_id", allow_null=True)

    class Meta:
        model = UsageInterval
        fields = (
            "id",
            "state",
            "gpu_model",
            "tenant",
            "job",
            "run",
            "gpus",
            "loan_gpus",
            "usd_per_gpu_hour",
            "started_at",
            "ended_at",
        )


class IntervalFilter(filters.FilterSet):
    state = WordsFilter(CapacityState)
    gpu_model = GpuModelFilter()
    tenant = TenantFilter()
    job = WholeFilter(field_name="job_id")
    run = WholeFilter(field_name="run_id")
    open = OpenFilter("ended_at", help_text="Still so.")


class StatesOverTime(serializers.Serializer):
    """For each state, a number for each step."""

    busy = serializers.ListField(child=serializers.FloatField())
    idle_allocated = serializers.ListField(child=serializers.FloatField())
    unknown_allocated = serializers.ListField(child=serializers.FloatField())
    starting = serializers.ListField(child=serializers.FloatField())
    reserved = serializers.ListField(child=serializers.FloatField())
    placeable = serializers.ListField(child=serializers.FloatField())
    stranded = serializers.ListField(child=serializers.FloatField())
    unavailable = serializers.ListField(child=serializers.FloatField())


class AveragesRow(serializers.Serializer):
    starts = serializers.ListField(child=serializers.DateTimeField(), help_text="Where each step begins.")
    step_s = serializers.FloatField()
    gpus = StatesOverTime(help_text="Mean GPUs in each state during each step.")
