"""Lists in pages: numbered ones, and the event log that is followed by its cursor."""

from collections.abc import Sequence
from typing import Any

from django.core.paginator import InvalidPage
from django.db.models import QuerySet
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.pagination import BasePagination, PageNumberPagination
from rest_framework.request import Request
from rest_framework.response import Response

from cluster.models import Event
from cluster.selectors.cursor import settled_cursor

LARGEST_ID = 2**63 - 1


def whole_number(request: Request, name: str, *, least: int, most: int, default: int) -> int:
    """A query parameter. Raises ValidationError naming it, its value and what is allowed."""
    text = request.query_params.get(name, "")
    if not text:
        return default
    if not text.isascii() or not text.isdecimal() or len(text) > 19 or not least <= int(text) <= most:
        raise ValidationError({name: f"{text!r} is not a whole number from {least} to {most}"})
    return int(text)


class Pages(PageNumberPagination):
    """`page` from 1, `page_size` up to 500. A page beyond the last is 404 and says which is the last."""

    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 500
    page_query_description = "Number of the page, from 1. Does not apply to CSV, which holds all rows."
    page_size_query_description = "Rows a page, 1 to 500. Does not apply to CSV, which holds all rows."

    def get_page_size(self, request: Request) -> int:
        return whole_number(request, "page_size", least=1, most=self.max_page_size, default=self.page_size)

    def paginate_queryset(
        self, queryset: QuerySet[Any] | Sequence[Any], request: Request, view: Any = None
    ) -> list[Any]:
        self.request = request
        paginator = self.django_paginator_class(queryset, self.get_page_size(request))
        number = whole_number(request, "page", least=1, most=LARGEST_ID, default=1)
        try:
            self.page = paginator.page(number)
        except InvalidPage:
            raise NotFound(f"there is no page {number}: the last is {paginator.num_pages}") from None
        return list(self.page)

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        number = {"type": "integer", "minimum": 1, "maximum": LARGEST_ID, "default": 1}
        size = {"type": "integer", "minimum": 1, "maximum": self.max_page_size, "default": self.page_size}
        return [
            _parameter("page", self.page_query_description, number),
            _parameter("page_size", self.page_size_query_description, size),
        ]


class FollowedLog(BasePagination):
    """Events by id: `?after=` the last one seen; without it, the newest. `next_after` goes on from there.

    Only settled events are given: none can still appear below `next_after`.
    """

    limit, most = 100, 1000

    def paginate_queryset(self, queryset: QuerySet[Event], request: Request, view: Any = None) -> list[Event]:
        limit = whole_number(request, "limit", least=1, most=self.most, default=self.limit)
        head = settled_cursor()
        rows = queryset.filter(id__lte=head)
        if "after" not in request.query_params:
            newest = list(rows.order_by("-id")[: limit + 1])
            self.has_more, self.next_after = False, head
            return newest[:limit][::-1]
        after = self.after(request)
        found = list(rows.filter(id__gt=after).order_by("id")[: limit + 1])
        self.has_more = len(found) > limit
        found = found[:limit]
        self.next_after = found[-1].pk if self.has_more else max(head, after)
        return found

    @staticmethod
    def after(request: Request) -> int:
        return whole_number(request, "after", least=0, most=LARGEST_ID, default=0)

    def get_paginated_response(self, data: Any) -> Response:
        return Response({"next_after": self.next_after, "has_more": self.has_more, "results": data})

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "object",
            "required": ["next_after", "has_more", "results"],
            "properties": {
                "next_after": {
                    "type": "integer",
                    "description": "Ask with `after` set to this the next time.",
                },
                "has_more": {"type": "boolean", "description": "More events are there already."},
                "results": schema,
            },
        }

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        after = {"type": "integer", "minimum": 0, "maximum": LARGEST_ID}
        limit = {"type": "integer", "minimum": 1, "maximum": self.most, "default": self.limit}
        return [
            _parameter(
                "after", "Events with a higher id than this, oldest first; 0 = from the first.", after
            ),
            _parameter("limit", "At most so many events.", limit),
        ]


def _parameter(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "description": description, "schema": schema}
