"""The knobs of the scheduler. A published policy version holds exactly these."""

from dataclasses import dataclass, fields
from enum import StrEnum


class Queueing(StrEnum):
    """How the queue is worked. All but the first exist for comparison in a replay."""

    LOCKSTEP = "lockstep"
    FIFO = "fifo"
    """Strictly by age: nothing passes a blocked head."""
    EASY = "easy"
    """By age; what is expected to end before the blocked head could start may pass it."""


@dataclass(frozen=True, slots=True)
class Policy:
    """Scheduling policy. Times in seconds."""

    queueing: Queueing = Queueing.LOCKSTEP
    quotas: bool = True
    """Whether entitlements count at all; without them the fleet is one pool for everybody."""
    lending: bool = True
    """Whether idle entitlement is lent; without it every entitlement is a hard quota."""
    preemption: bool = True
    reserve_after_s: float = 300.0
    """A gang blocked for this long starts to gather nodes."""
    save_after_s: float = 14400.0
    """A gang refused for quota for this long has quota saved up for it. Not sooner: on the Helios sample,
    saving from the start of gathering cost the other jobs more (mean wait 53 min) than it gained (48 min)."""
    reservations_per_model: int = 4
    """How many gangs may gather at the same time on one GPU model."""
    max_grace_s: float = 600.0
    """A job's own grace window is cut to this."""
    requeue_backoff_s: float = 60.0
    """Wait before the next try after a failed start; doubles with each."""
    least_backfill_s: float = 600.0
    """Backfill that will not end by itself must be able to work this long before it is sent away again."""
    placeable_gpus: int = 8
    """The gang for which free capacity is called placeable when no other shape waits."""
    activity_fresh_s: float = 300.0
    """An activity signal older than this is unknown."""
    solver_limit_s: float = 1.0
    """Seconds of wall time that the solver may take for one GPU model in one tick; 0 = greedy alone."""
    search_budget: int = 64
    """How many shapes may search for victims in one tick."""

    @classmethod
    def from_settings(cls, settings: dict[str, object]) -> "Policy":
        """The policy with these settings over the defaults. Raises ValueError naming an unknown field."""
        known = {f.name for f in fields(cls)}
        unknown = sorted(set(settings) - known)
        if unknown:
            raise ValueError(f"unknown policy field {unknown[0]!r}; allowed: {', '.join(sorted(known))}")
        values = dict(settings)
        if "queueing" in values:
            values["queueing"] = Queueing(str(values["queueing"]))
        return cls(**values)  # type: ignore[arg-type]
