"""The checklist's short words: the name of each constraint, and a verdict's arithmetic in one line."""

from collections.abc import Mapping
from dataclasses import dataclass

from cluster.scheduler.verdict import Verdict
from cluster.scheduler.words import Constraint

LABELS: Mapping[str, str] = {
    Constraint.NEVER_FITS: "Can ever fit",
    Constraint.ADMIN_HOLD: "Held by a person",
    Constraint.START_TIME: "Start time",
    Constraint.NODE_HEALTH: "Node health",
    Constraint.QUOTA: "Quota",
    Constraint.GUARANTEE: "Others' guarantee",
    Constraint.RESERVATION: "Reservation ahead",
    Constraint.GANG_SIZE: "Gang size",
    Constraint.TOPOLOGY: "Topology",
    Constraint.POWER: "Power and cooling",
    Constraint.DATA: "Data",
    Constraint.DRAINING: "Victims leaving",
    Constraint.NOT_EVALUATED: "Not yet evaluated",
}
BLOCKED_LABELS: Mapping[str, str] = {**LABELS, Constraint.NEVER_FITS: "Never fits"}
"""The same as names of what blocks, for a list of reasons."""


@dataclass(frozen=True)
class Term:
    """One number of the arithmetic: `need 64`."""

    label: str
    value: str
    is_short: bool = False


def label(constraint: str, *, blocking: bool = False) -> str:
    return (BLOCKED_LABELS if blocking else LABELS).get(constraint, constraint.replace("_", " "))


def terms(verdict: Verdict) -> list[Term]:
    """`need 64 · in use 16 · of 48 · short 32 · may call back 8`, without what is not counted."""
    found = []
    if verdict.demand is not None and verdict.unit:
        found.append(Term("need", _amount(verdict.demand, verdict.unit)))
    if verdict.limit is not None and verdict.unit:
        if verdict.used:
            found.append(Term("taken", _number(verdict.used)))
        found.append(Term("of" if verdict.used else "there", _number(verdict.limit)))
    if not verdict.ok and verdict.missing:
        found.append(Term("short", _number(verdict.missing), is_short=True))
    if not verdict.ok and verdict.reclaimable:
        found.append(Term("may call back", _number(verdict.reclaimable)))
    return found


def arithmetic(verdict: Verdict) -> str:
    """`need 64 GPUs · 16 of 48 taken · short 32`, for one line of a table."""
    found = []
    if verdict.demand is not None and verdict.unit:
        found.append(f"need {_amount(verdict.demand, verdict.unit)}")
    if verdict.limit is not None and verdict.unit:
        found.append(_room(verdict.used or 0.0, verdict.limit))
    if not verdict.ok and verdict.missing:
        found.append(f"short {_number(verdict.missing)}")
    return " · ".join(found)


def _room(used: float, limit: float) -> str:
    """Use above a limit is no part of it: a lender may need what it has lent."""
    if used > limit:
        return f"{_number(used)} in use, limit {_number(limit)}"
    return f"{_number(used)} of {_number(limit)} taken" if used else f"{_number(limit)} there"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def _amount(value: float, unit: str) -> str:
    plural = "s" if value != 1 and unit in ("GPU", "node", "run") else ""
    return f"{_number(value)} {unit}{plural}"
