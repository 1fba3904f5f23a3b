"""Any table as CSV: times in ISO 8601 in the reader's zone, unknown left empty."""

import csv
import io
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.http import HttpResponse
from django.utils import timezone


def csv_file(name: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> HttpResponse:
    """A download called `name`.csv. Made whole: a file cut short by an error would look complete."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(head)
    writer.writerows([cell(value) for value in row] for row in rows)
    answer = HttpResponse(text.getvalue(), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return answer


def cell(value: Any) -> Any:
    """What a spreadsheet is given. Text that it would run as a formula is kept text."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return timezone.localtime(value).isoformat(timespec="seconds")
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{value}"
    return value
