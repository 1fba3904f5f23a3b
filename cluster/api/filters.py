"""Filters that lists share. A value that is not understood is refused, never passed over."""

from datetime import UTC, datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.db.models.enums import TextChoices
from django_filters import rest_framework as filters
from django_filters.fields import IsoDateTimeField
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field

from cluster.selectors.tenant_tree import below
from fleet.models import GpuModel
from tenancy.models import Tenant

LARGEST = 2**31 - 1
EARLIEST, LATEST = datetime(1970, 1, 2, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)


class MomentField(IsoDateTimeField):
    """A time in ISO 8601, kept within the years that every database and clock can hold.

    For the edge of a window that makes no difference.
    """

    def to_python(self, value: Any) -> datetime | None:
        try:
            moment = super().to_python(value)
        except OverflowError:  # the zone takes it out of the calendar
            return EARLIEST if str(value).startswith("0") else LATEST
        return None if moment is None else min(max(moment, EARLIEST), LATEST)


class _YesNoField(forms.Field):
    widget = forms.TextInput

    def to_python(self, value: Any) -> bool | None:
        if value in (None, ""):
            return None
        known = {"true": True, "false": False}.get(str(value).lower())
        if known is None:
            raise ValidationError(f"{value!r} is neither true nor false")
        return known


@extend_schema_field({"type": "string", "format": "date-time", "description": "From this time on."})
class FromFilter(filters.IsoDateTimeFilter):
    """The start of a half-open window [from, to)."""

    field_class = MomentField

    def __init__(self, field_name: str) -> None:
        super().__init__(field_name=field_name, lookup_expr="gte")


@extend_schema_field(
    {"type": "string", "format": "date-time", "description": "Up to, not including, this time."}
)
class ToFilter(filters.IsoDateTimeFilter):
    field_class = MomentField

    def __init__(self, field_name: str) -> None:
        super().__init__(field_name=field_name, lookup_expr="lt")


@extend_schema_field({"type": "integer", "minimum": 0, "maximum": LARGEST})
class WholeFilter(filters.NumberFilter):
    field_class = forms.IntegerField

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, min_value=0, max_value=LARGEST, **kwargs)


@extend_schema_field(OpenApiTypes.BOOL)
class YesNoFilter(filters.Filter):
    field_class = _YesNoField


class OpenFilter(YesNoFilter):
    """True: the rows whose closing time is not set yet."""

    def __init__(self, field_name: str, **kwargs: Any) -> None:
        super().__init__(field_name=field_name, lookup_expr="isnull", **kwargs)


class WordsFilter(filters.MultipleChoiceFilter):
    """One or several words of a closed list: `?state=pending&state=active`."""

    def __init__(self, words: type[TextChoices], **kwargs: Any) -> None:
        super().__init__(choices=words.choices, distinct=False, **kwargs)


@extend_schema_field(OpenApiTypes.STR)
class NameFilter(filters.ModelChoiceFilter):
    """A row of another table by its name; a name that is not there is an error."""

    def __init__(self, queryset: QuerySet[Any], **kwargs: Any) -> None:
        message = {"invalid_choice": "there is none of this name"}
        super().__init__(queryset=queryset, to_field_name="name", error_messages=message, **kwargs)


class TenantFilter(NameFilter):
    """A tenant with everything below it in the tree."""

    def __init__(self, field_name: str = "tenant") -> None:
        about = "Name of a tenant; those below it are included."
        super().__init__(Tenant.objects.all(), field_name=field_name, help_text=about)

    def filter(self, qs: QuerySet[Any], value: Tenant | None) -> QuerySet[Any]:
        return qs if value is None else qs.filter(**{f"{self.field_name}__in": below(value)})


class GpuModelFilter(NameFilter):
    def __init__(self, field_name: str = "gpu_model") -> None:
        super().__init__(GpuModel.objects.all(), field_name=field_name, help_text="Name of a GPU model.")
