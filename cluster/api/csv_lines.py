"""Any list as CSV: all rows, streamed; ISO 8601 in UTC; unknown is empty; columns carry their units."""

import csv
import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse
from rest_framework.renderers import BaseRenderer

LINES_AT_ONCE = 500


class CsvRenderer(BaseRenderer):
    """Marks a list as available in CSV; the view streams it (see `csv_answer`)."""

    media_type = "text/csv"
    format = "csv"
    charset = "utf-8"

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None
    ) -> bytes:
        rows = data if isinstance(data, list) else [data]
        return "".join(csv_lines(list(rows[0]) if rows else [], rows)).encode()


class _Line:
    """A file for csv.writer that hands every line back."""

    def write(self, line: str) -> str:
        return line


def csv_lines(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    writer = csv.writer(_Line())
    yield writer.writerow(columns)
    for row in rows:
        yield writer.writerow([cell(row.get(column)) for column in columns])


def cell(value: Any) -> Any:
    """One value as a spreadsheet should read it. Text that it would run as a formula is kept text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list) and all(isinstance(item, str | int) for item in value):
        value = " ".join(map(str, value))
    elif isinstance(value, dict | list):
        value = json.dumps(value, separators=(",", ":"))
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{value}"
    return value


def csv_answer(
    request: HttpRequest, name: str, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]
) -> StreamingHttpResponse:
    """A download called `name`.csv, read row by row however long it is."""
    lines = csv_lines(columns, rows)
    # A plain iterator under ASGI would be gathered in memory before the first line goes out.
    content = _in_batches(lines) if isinstance(request, ASGIRequest) else lines
    answer = StreamingHttpResponse(content, content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    answer["Cache-Control"] = "no-store"
    return answer


async def _in_batches(lines: Iterator[str]) -> AsyncIterator[str]:
    while batch := await sync_to_async(lambda: "".join(islice(lines, LINES_AT_ONCE)))():
        yield batch
