"""The window of a report: `from` and `to`, as times of the engine's clock."""

from datetime import datetime, timedelta

from django.core.exceptions import ValidationError as Refusal
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from cluster.api.allowed import TIME
from cluster.api.filters import MomentField

FROM = OpenApiParameter("from", datetime, description="Start of the window; usually a day before its end.")
TO = OpenApiParameter(
    "to", datetime, description="End of the window, not included; usually now, and never later."
)


def moment(request: Request, name: str, default: datetime) -> datetime:
    """A query parameter as a time. Raises ValidationError naming it and what is allowed."""
    text = request.query_params.get(name, "")
    if not text:
        return default
    try:
        found = MomentField().clean(text)
    except Refusal as refusal:
        raise ValidationError({name: f"{' '.join(refusal.messages)} Give {TIME}"}) from None
    return found or default


def window(
    request: Request, now: datetime, usual: timedelta = timedelta(days=1)
) -> tuple[datetime, datetime]:
    """(from, to) with from < to ≤ now. Raises ValidationError."""
    end = min(moment(request, "to", now), now)
    start = moment(request, "from", end - usual)
    if start >= end:
        raise ValidationError(
            {"from": f"the window is empty: from {start.isoformat()} is not before to {end.isoformat()}"}
        )
    return start, end
