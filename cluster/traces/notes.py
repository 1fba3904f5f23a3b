"""Counting what a reader leaves out or assumes, to say it in whole sentences afterwards."""

from collections import Counter
from itertools import pairwise

NO_STARTS = "No start time is known, so every wait is a result of the replay."
UNEVEN = "GPUs do not divide evenly over the nodes; only their sum is asked for"


class Tally:
    """Reasons with their counts and the line (or record) that met each first."""

    def __init__(self, what: str = "line") -> None:
        self._what = what
        self._counts: Counter[str] = Counter()
        self._first: dict[str, int] = {}

    def add(self, reason: str, at: int) -> None:
        self._counts[reason] += 1
        self._first.setdefault(reason, at)

    @property
    def total(self) -> int:
        return self._counts.total()

    def statements(self, verb: str) -> list[str]:
        """'Skipped 897: never placed (first at line 45).' and so on, the commonest first."""
        return [
            f"{verb} {count:,}: {reason} (first at {self._what} {self._first[reason]:,})."
            for reason, count in self._counts.most_common()
        ]


def order_note(submits_s: list[float]) -> str | None:
    """Says that rows were not in order of submission, and how many steps went back; None when they were."""
    back = sum(1 for earlier, later in pairwise(submits_s) if later < earlier)
    if not back:
        return None
    return f"Rows are not in order of submission ({back:,} steps go back in time); jobs are sorted by it."


def copies_note(rows: list[tuple[str, ...]]) -> str | None:
    """Says how many rows equal another one; None when all differ."""
    copies = len(rows) - len(set(rows))
    if not copies:
        return None
    return (
        f"{copies:,} rows are exact copies of another. There is no job id to tell copies from equal jobs, "
        "so every row is kept as a job of its own."
    )
