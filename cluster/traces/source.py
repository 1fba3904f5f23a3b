"""Opening trace files, and taking typed values out of their rows with the place of every mistake."""

import csv
import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO, TypeVar

from cluster.traces.times import seconds_of
from cluster.traces.trace import TraceError

ZONE_OR_NOT = "every time with a zone, or every time without"

# What the published files write where a value is missing.
ABSENT = frozenset({"", "none", "null", "nan", "nat", "n/a", "na", "unknown"})

T = TypeVar("T")
Row = list[str]
Cell = Callable[[Row], T]


@contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """The file as text, unpacked when its name ends in .gz. Raises TraceError when it cannot be read."""
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as raw:
            yield TextIOWrapper(raw, encoding="utf-8-sig", newline="")
    except FileNotFoundError:
        raise TraceError(str(path), "there is no such file") from None
    except UnicodeDecodeError as error:
        raise TraceError(str(path), f"not UTF-8 text ({error.reason} at byte {error.start})") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise TraceError(str(path), f"not a whole gzip file ({error})") from None
    except OSError as error:
        raise TraceError(str(path), f"cannot be read ({error.strerror or error})") from None


def is_json(path: Path) -> bool:
    return path.name.removesuffix(".gz").endswith(".json")


def read_json(path: Path) -> Any:
    """The whole document. Raises TraceError with the line of the first fault."""
    with open_text(path) as text:
        try:
            return json.load(text)
        except json.JSONDecodeError as error:
            raise TraceError(str(path), f"not JSON ({error.msg})", line=error.lineno) from None


def header_of(path: Path) -> list[str]:
    """The column names in the first line of a CSV file; an empty list for an empty file."""
    with open_text(path) as text:
        return [name.strip() for name in next(csv.reader(text), [])]


class Table:
    """A CSV file as rows, with column readers that know how to complain.

    `whole("gpus")` and its like give back a function from a row to the value, so that the position of the
    column is looked up once per file and not once per row.
    """

    def __init__(self, path: Path, needs: tuple[str, ...]) -> None:
        self.file = str(path)
        self.path = path
        self.line = 1
        self.columns = header_of(path)
        self._check_header(needs)

    def _check_header(self, needs: tuple[str, ...]) -> None:
        if not self.columns:
            raise TraceError(self.file, "the file is empty", line=1, allowed="a header, then one line a job")
        twice = {name for name in self.columns if self.columns.count(name) > 1}
        missing = [name for name in needs if name not in self.columns]
        for name in sorted(twice):
            raise TraceError(self.file, "the header names this column twice", line=1, column=name)
        for name in missing:
            allowed = ", ".join(needs)
            raise TraceError(self.file, "the header lacks this column", line=1, column=name, allowed=allowed)

    def __contains__(self, column: str) -> bool:
        return column in self.columns

    def rows(self) -> Iterator[Row]:
        """Each row with as many cells as the header; `line` is the row's own while it is handled."""
        with open_text(self.path) as text:
            reader = csv.reader(text)
            next(reader)
            width = len(self.columns)
            try:
                for row in reader:
                    self.line = reader.line_num
                    if len(row) == width:
                        yield row
                    elif row:
                        allowed = f"{width}, as in the header"
                        raise TraceError(self.file, f"{len(row)} cells", line=self.line, allowed=allowed)
            except csv.Error as error:
                raise TraceError(self.file, f"not CSV ({error})", line=reader.line_num) from None

    def error(self, column: str, value: str, allowed: str) -> TraceError:
        problem = f"'{value}' is not allowed"
        return TraceError(self.file, problem, line=self.line, column=column, value=value, allowed=allowed)

    def text(self, column: str) -> Cell[str]:
        """The cell's text, which may not be empty."""
        at = self.columns.index(column)

        def read(row: Row) -> str:
            value = row[at].strip()
            if not value:
                raise self.error(column, row[at], "a name")
            return value

        return read

    def text_or_none(self, column: str) -> Cell[str | None]:
        """The cell's text; None when it is empty or the file has no such column."""
        if column not in self.columns:
            return lambda row: None
        at = self.columns.index(column)
        return lambda row: None if row[at].strip().lower() in ABSENT else row[at].strip()

    def one_of(self, column: str, allowed: tuple[str, ...]) -> Cell[str | None]:
        """One of the allowed words, or None when empty or without such a column."""
        read_text = self.text_or_none(column)

        def read(row: Row) -> str | None:
            value = read_text(row)
            if value is not None and value not in allowed:
                raise self.error(column, value, ", ".join(allowed))
            return value

        return read

    def whole(self, column: str, least: int = 0) -> Cell[int]:
        """A whole number, `least` or more. '8.0', as spreadsheets write it, counts as 8."""
        at = self.columns.index(column)

        def read(row: Row) -> int:
            number = _whole_number(row[at])
            if number is None or number < least:
                raise self.error(column, row[at], f"a whole number, {least} or more")
            return number

        return read

    def whole_or_none(self, column: str, least: int = 0) -> Cell[int | None]:
        """A whole number; None when the cell is empty or the file has no such column."""
        if column not in self.columns:
            return lambda row: None
        at, read = self.columns.index(column), self.whole(column, least)
        return lambda row: None if row[at].strip().lower() in ABSENT else read(row)

    def seconds(self, column: str) -> Cell[float]:
        """A length of time or an offset in seconds, 0 or more."""
        at = self.columns.index(column)

        def read(row: Row) -> float:
            try:
                number = float(row[at])
            except ValueError:
                number = -1.0
            if not 0 <= number < float("inf"):
                raise self.error(column, row[at], "a number of seconds, 0 or more")
            return number

        return read

    def seconds_or_none(self, column: str) -> Cell[float | None]:
        """Seconds; None when the cell is empty or the file has no such column."""
        if column not in self.columns:
            return lambda row: None
        at, read = self.columns.index(column), self.seconds(column)
        return lambda row: None if row[at].strip().lower() in ABSENT else read(row)

    def moment(self, column: str) -> Cell[datetime]:
        """A date and time such as 2017-10-09 07:01:55, with or without a zone such as +08:00."""
        at = self.columns.index(column)

        def read(row: Row) -> datetime:
            try:
                return datetime.fromisoformat(row[at].strip())
            except ValueError:
                raise self.error(column, row[at], "a time such as 2017-10-09 07:01:55") from None

        return read

    def moment_s(self, column: str) -> Cell[float]:
        """The same as seconds on a line common to the whole file (see `times.seconds_of`)."""
        read = self.moment(column)
        return lambda row: seconds_of(read(row))

    def moment_s_or_none(self, column: str) -> Cell[float | None]:
        at, read = self.columns.index(column), self.moment_s(column)
        return lambda row: None if row[at].strip().lower() in ABSENT else read(row)


def _whole_number(text: str) -> int | None:
    """The number in a text such as '8' or '8.0'; None when it is not a whole one."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return None
    return int(number) if number.is_integer() else None
