"""A verdict: one constraint, checked against one job, with its arithmetic."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cluster.scheduler.words import PRECEDENCE, Constraint


@dataclass(frozen=True, slots=True)
class Blocker:
    """Something that stands in the way: a run, a reservation, a tenant or a node."""

    kind: str
    id: str
    gpus: int
    tenant: str = ""
    tier: str = ""
    until_s: float | None = None
    """When it is expected to be out of the way; None = unknown."""

    def as_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "id": self.id,
            "gpus": self.gpus,
            "tenant": self.tenant,
            "tier": self.tier,
            "until_s": self.until_s,
        }


@dataclass(frozen=True, slots=True)
class Verdict:
    """Does `demand` fit: used + demand ≤ limit, in `unit`, at `scope`?"""

    constraint: Constraint
    ok: bool
    scope: str
    demand: float | None = None
    used: float | None = None
    limit: float | None = None
    """None = no limit applies or it is not known; `note` says which."""
    unit: str = "GPU"
    note: str = ""
    """A key into the sentences of explain.py that tells variants of one constraint apart."""
    blockers: tuple[Blocker, ...] = ()
    until_s: float | None = None
    reclaimable: float | None = None
    """How much of what is missing this job may call back or preempt."""
    names: tuple[str, ...] = ()
    facts: Mapping[str, float | str] = field(default_factory=dict)
    """What its sentence needs beside the arithmetic."""
    proof: str = "proof"
    """"proof", or "search" when a search budget ended before an answer was certain."""

    @property
    def missing(self) -> float | None:
        """How much is short; None when there is nothing to count."""
        if self.demand is None or self.limit is None:
            return None
        return max(0.0, (self.used or 0.0) + self.demand - self.limit)

    def as_json(self) -> dict[str, Any]:
        return {
            "constraint": self.constraint.value,
            "ok": self.ok,
            "scope": self.scope,
            "demand": self.demand,
            "used": self.used,
            "limit": self.limit,
            "unit": self.unit,
            "note": self.note,
            "blockers": [b.as_json() for b in self.blockers],
            "until_s": self.until_s,
            "reclaimable": self.reclaimable,
            "names": list(self.names),
            "facts": dict(self.facts),
            "proof": self.proof,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Verdict":
        values = dict(data)
        values["constraint"] = Constraint(values["constraint"])
        values["blockers"] = tuple(Blocker(**b) for b in values.get("blockers", ()))
        values["names"] = tuple(values.get("names", ()))
        return cls(**values)


def binding(verdicts: Iterable[Verdict]) -> Verdict | None:
    """The failing verdict of highest precedence: the one thing that blocks. None if nothing does."""
    failing = [v for v in verdicts if not v.ok]
    return min(failing, key=lambda v: PRECEDENCE[v.constraint], default=None)


def signature(verdicts: Sequence[Verdict]) -> str:
    """What must change for a new decision to be recorded: the reason and whose quota binds, not numbers."""
    bound = binding(verdicts)
    if bound is None:
        return ""
    whose = bound.scope if bound.constraint in (Constraint.QUOTA, Constraint.GUARANTEE) else ""
    return f"{bound.constraint}|{bound.note}|{whose}"
