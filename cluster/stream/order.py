"""The order of events, kept although PostgreSQL commits their ids out of order. Pure.

An id is taken when a row is inserted and becomes visible when its transaction commits, so 7 may appear
before 6. Whoever read 7 and then resumes "after 7" would never learn of 6. So a row behind a gap waits: until
the gap is filled, until every transaction that was writing events at that time has ended (then the gap is a
rolled-back id and will never be filled), or, at the latest, until LONGEST_GAP_S have passed.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

LONGEST_GAP_S = 10.0


class Numbered(Protocol):
    @property
    def id(self) -> int: ...


Row = TypeVar("Row", bound=Numbered)


@dataclass(slots=True)
class _Wait:
    since: float
    writers: frozenset[str] | None = None  # those that may still fill the gap


class InOrder:
    """Takes rows as they become visible and gives them back in the order of their ids, each once."""

    def __init__(self, cursor: int, *, gaps_fill: bool) -> None:
        """`gaps_fill` is False where commits are in the order of ids (SQLite: one writer): nothing waits."""
        self.cursor = cursor
        self._gaps_fill = gaps_fill
        self._waits: dict[int, _Wait] = {}

    @property
    def is_waiting(self) -> bool:
        """Is some row held back behind a gap?"""
        return bool(self._waits)

    def settle(self, rows: Iterable[Row], now_s: float, writers: frozenset[str] | None) -> list[Row]:
        """The rows that may be passed on, out of all rows after `cursor` in the order of their ids.

        `writers` are the transactions that are writing events; None = not known. They must have been read
        before the rows were: what had ended then is visible in them.
        """
        settled: list[Row] = []
        blocked = False
        for row in rows:
            follows = row.id == self.cursor + 1 or not self._gaps_fill
            ripe = follows or self._is_ripe(row.id, now_s, writers)  # asked of all: they wait side by side
            blocked = blocked or not ripe
            if not blocked:
                settled.append(row)
                self.cursor = row.id
                self._waits.pop(row.id, None)
        return settled

    def _is_ripe(self, row_id: int, now_s: float, writers: frozenset[str] | None) -> bool:
        """Can nothing come before this row any more? Starts its wait when it is seen for the first time."""
        wait = self._waits.get(row_id)
        if wait is None:  # the writers of this round were read before the row was: they are of no use yet
            self._waits[row_id] = _Wait(now_s)
            return False
        if writers is not None:
            wait.writers = writers if wait.writers is None else wait.writers & writers
        return wait.writers == frozenset() or now_s - wait.since >= LONGEST_GAP_S
