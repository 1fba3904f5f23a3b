"""The explanation of one job, for one request."""

from typing import Any

from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from cluster.api.verdicts import ExplanationRow
from cluster.models import Job
from cluster.selectors.explanation import as_text, explain_job


def explanation_for(job: Job, request: Request) -> dict[str, Any]:
    """Raises ValidationError for a parameter that is not understood."""
    unknown = sorted(set(request.query_params) - {"hints", "format"})
    if unknown:
        raise ValidationError(
            dict.fromkeys(unknown, "there is no such parameter here; allowed: format, hints")
        )
    asked = request.query_params.get("hints", "true").lower()
    if asked not in ("true", "false"):
        raise ValidationError({"hints": f"{asked!r} is neither true nor false"})
    found = explain_job(job, with_hints=asked == "true")
    row: dict[str, Any] = ExplanationRow({**found.as_json(), "text": as_text(job, found)}).data
    return row
