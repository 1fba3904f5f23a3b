"""What every resource does: a list with filters, order, pages and CSV; one row by its key."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponseBase
from django_filters.rest_framework import FilterSet
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer, ListSerializer
from rest_framework.viewsets import GenericViewSet

from cluster.api.access import Reader, reader_of
from cluster.api.csv_lines import CsvRenderer, csv_answer

CHUNK = 500


class Resource(GenericViewSet):
    """The base of all resources; gives no endpoint by itself."""

    filterset_class: type[FilterSet] | None = None
    orderings: Mapping[str, str] = {"id": "id"}
    default_ordering = "id"
    csv_actions: frozenset[str] = frozenset({"list"})
    """The actions that answer with a list, and so in CSV too."""
    csv_expand = ""
    """A field that holds a list of objects: CSV has a line for each of them."""
    noun = "row"
    form: BaseSerializer | None = None

    @property
    def reader(self) -> Reader:
        return reader_of(self.request)

    def get_renderers(self) -> list[BaseRenderer]:
        is_list = self.action in self.csv_actions or self.action is None  # no such method: to be said as such
        return [JSONRenderer(), CsvRenderer()] if is_list else [JSONRenderer()]

    def asked(self, form: type[BaseSerializer]) -> dict[str, Any]:
        """The body of a write, checked. Raises ValidationError; the form is kept, to say what it takes."""
        self.form = form(data=self.request.data)
        self.form.is_valid(raise_exception=True)
        found: dict[str, Any] = self.form.validated_data
        return found

    def get_object(self) -> Any:
        """The row that the address names. The query filters lists only."""
        rows, key = self.get_queryset(), self.kwargs[self.lookup_field]
        try:
            if "\x00" not in key:  # not every database takes it, even to say that it is not there
                return rows.get(**{self.lookup_field: key})
        except (rows.model.DoesNotExist, ValueError, OverflowError):
            pass
        raise NotFound(f"there is no {self.noun} {key}")

    def listed(self, rows: QuerySet[Any] | Sequence[Any], *more: str) -> HttpResponseBase:
        """These rows as the request wants them: filtered, ordered, as a page of JSON or all of it as CSV.

        `more`: query parameters that the caller has read itself.
        """
        self.refuse_unknown_parameters(*more)
        if isinstance(rows, QuerySet):
            rows = self.filter_queryset(rows)
        if self.request.accepted_renderer.format == "csv":
            name = f"{self.basename}-{self.action}" if self.action != "list" else self.basename
            return csv_answer(self.request._request, name, self._columns(), self._csv_rows(rows))
        page = self.paginate_queryset(rows)
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    def refuse_unknown_parameters(self, *more: str) -> None:
        """Raises ValidationError for a query parameter that would do nothing: it is a misspelt one."""
        known = {"format", *more, *self._list_parameters()}
        unknown = sorted(set(self.request.query_params) - known)
        if unknown:
            message = f"there is no such parameter here; allowed: {', '.join(sorted(known))}"
            raise ValidationError(dict.fromkeys(unknown, message))

    def _list_parameters(self) -> Iterator[str]:
        yield from self.filterset_class.base_filters if self.filterset_class else ()
        yield from ("ordering",) if self.orderings else ()
        if self.paginator is not None:
            yield from (p["name"] for p in self.paginator.get_schema_operation_parameters(self))

    # CSV

    def _columns(self) -> list[str]:
        fields = self.get_serializer().fields
        columns = [name for name in fields if name != self.csv_expand]
        if self.csv_expand:
            nested = fields[self.csv_expand]
            columns += (nested.child if isinstance(nested, ListSerializer) else nested).fields
        return columns

    def _csv_rows(self, rows: QuerySet[Any] | Sequence[Any]) -> Iterator[Mapping[str, Any]]:
        for chunk in _chunks(rows):
            serializer: BaseSerializer = self.get_serializer(chunk, many=True)
            for row in serializer.data:
                yield from _expanded(row, self.csv_expand) if self.csv_expand else (row,)


class ReadResource(Resource):
    """A list, and one row of it by its key."""

    def list(self, request: Request, **kwargs: Any) -> HttpResponseBase:
        return self.listed(self.get_queryset())

    def retrieve(self, request: Request, **kwargs: Any) -> Response:
        return Response(self.get_serializer(self.get_object()).data)


def _chunks(rows: QuerySet[Any] | Sequence[Any]) -> Iterator[list[Any]]:
    stream = iter(rows.iterator(chunk_size=CHUNK)) if isinstance(rows, QuerySet) else iter(rows)
    while chunk := list(islice(stream, CHUNK)):
        yield chunk


def _expanded(row: Mapping[str, Any], name: str) -> Iterable[Mapping[str, Any]]:
    rest = {key: value for key, value in row.items() if key != name}
    return [{**rest, **part} for part in row[name]] or [rest]
