"""`?ordering=-gpus,tenant`: by the names a view allows, always with the key as the last word."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import FieldDoesNotExist
from django.db.models import F, Model, QuerySet
from django.db.models.expressions import OrderBy
from rest_framework.exceptions import ValidationError
from rest_framework.filters import BaseFilterBackend
from rest_framework.request import Request


class Ordering(BaseFilterBackend):
    """Reads `view.orderings` (name → path) and `view.default_ordering`.

    Equal rows keep one order by their id, so that no row is on two pages. Unknown values (null) come last in
    both directions, on every database.
    """

    def filter_queryset(self, request: Request, queryset: QuerySet[Any], view: Any) -> QuerySet[Any]:
        allowed: Mapping[str, str] = view.orderings
        if not allowed:
            return queryset.order_by("pk")
        wanted = request.query_params.get("ordering", "") or view.default_ordering
        terms = [term.strip() for term in wanted.split(",") if term.strip()]
        for term in terms:
            if term.removeprefix("-") not in allowed:
                known = ", ".join(allowed)
                raise ValidationError({"ordering": f"{term!r} is not known; allowed: {known}, also with '-'"})
        order = [_order(queryset.model, allowed[t.removeprefix("-")], t.startswith("-")) for t in terms]
        last = "-pk" if terms and terms[0].startswith("-") else "pk"
        return queryset.order_by(*order, last)

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        allowed: Mapping[str, str] = view.orderings
        if not allowed:
            return []
        names = [sign + name for name in allowed for sign in ("", "-")]
        return [
            {
                "name": "ordering",
                "in": "query",
                "required": False,
                "description": f"Sort by these, `-` for descending. Usually `{view.default_ordering}`.",
                "schema": {"type": "array", "items": {"type": "string", "enum": names}},
                "style": "form",
                "explode": False,
            }
        ]


def _order(model: type[Model], path: str, descending: bool) -> str | OrderBy:
    """Databases place nulls differently; where there are none, the plain form can use the index."""
    if not _may_be_null(model, path):
        return f"-{path}" if descending else path
    return F(path).desc(nulls_last=True) if descending else F(path).asc(nulls_last=True)


def _may_be_null(model: type[Model], path: str) -> bool:
    for name in path.split("__"):
        try:
            field = model._meta.get_field(name)
        except FieldDoesNotExist:
            return True  # an annotation
        if field.null:
            return True
        if field.related_model is not None:
            model = field.related_model
    return False
