"""Which format is wanted: the suffix or `?format=` wins over the Accept header."""

from collections.abc import Sequence

from rest_framework.exceptions import ValidationError
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer


class Negotiation(DefaultContentNegotiation):
    def filter_renderers(self, renderers: Sequence[BaseRenderer], format: str) -> list[BaseRenderer]:
        found = [renderer for renderer in renderers if renderer.format == format]
        if not found:
            allowed = ", ".join(str(renderer.format) for renderer in renderers)
            raise ValidationError({"format": f"{format!r} is not available here; allowed: {allowed}"})
        return found
