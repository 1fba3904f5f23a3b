"""What a field takes, in words: the mend that goes with every refusal."""

from collections.abc import Iterable
from typing import Any

from django import forms
from rest_framework import serializers

TIME = "a time in ISO 8601 with its zone, such as 2026-03-02T08:00:00Z (in an address, '+' is written %2B)"
KNOWN_AT = {
    "tenant": "/api/v1/tenants/",
    "gpu_model": "/api/v1/gpu-models/",
    "node": "/api/v1/nodes/",
    "block": "/api/v1/blocks/",
    "pod": "/api/v1/pods/",
    "rack": "/api/v1/racks/",
}
"""Where the names that a field takes are listed."""

MENDS = {
    "gpus": "ask for fewer GPUs or name another gpu_model; /api/v1/gpu-models/ lists what is installed",
    "gpus_per_node": "give nodes with gpus_per_node, or gpus alone; /api/v1/gpu-models/ lists node sizes",
    "locality_required": "ask for a wider locality (node, block, pod, cluster) or a smaller gang",
    "preemptible": "set it to true, or choose a higher tier",
    "reason": "say it in a few words",
    "format": "use json, or csv where the answer is a list",
    "from": f"give {TIME}, before `to`",
    "to": f"give {TIME}, after `from`",
    "version": "leave it out, or read the job again and state the version it has now",
}
"""Where more is known than the type of the field says."""


def mend(name: str, field: Any = None, *, by_service: bool = False) -> str:
    """How to put it right, as well as is known."""
    if by_service and name in MENDS:
        return MENDS[name]
    if name in KNOWN_AT:
        return f"give a name from {KNOWN_AT[name]}"
    words = _of_form(field) if isinstance(field, forms.Field) else _of_serializer(field)
    return f"give {words}" if words else MENDS.get(name, "leave it out, or give what is allowed")


def _of_serializer(field: Any) -> str | None:
    match field:
        case serializers.ChoiceField():
            return _one_of(field.choices)
        case serializers.BooleanField():
            return "true or false"
        case serializers.IntegerField():
            return "a whole number" + _range(field.min_value, field.max_value)
        case serializers.FloatField():
            return "a number" + _range(field.min_value, field.max_value)
        case serializers.DateTimeField():
            return TIME
        case serializers.JSONField() | serializers.DictField():
            return "a JSON object"
        case serializers.CharField():
            least = "" if field.allow_blank else "non-empty "
            return f"{least}text" + (f" of at most {field.max_length} characters" if field.max_length else "")
    return None


def _of_form(field: forms.Field) -> str | None:
    match field:
        case forms.ModelChoiceField():
            return "one that exists"
        case forms.MultipleChoiceField() | forms.ChoiceField():
            return _one_of(value for value, _ in field.choices if value != "")
        case forms.NullBooleanField() | forms.BooleanField():
            return "true or false"
        case forms.IntegerField():
            return "a whole number" + _range(field.min_value, field.max_value)
        case forms.DateTimeField():
            return TIME
    return None


def _one_of(values: Iterable[Any]) -> str:
    return "one of: " + ", ".join(map(str, values))


def _range(least: float | None, most: float | None) -> str:
    if least is not None and most is not None:
        return f" from {least:g} to {most:,}".replace(",", "")
    return f" of at least {least:g}" if least is not None else ""
