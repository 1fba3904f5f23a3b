"""The knobs of the scheduler. A published policy version holds exactly these."""

from collections.abc import Iterable
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
    failure_states: tuple[str, ...] = ("feed_lost", "cooling_unit_lost")
    """Placements keep every power and cooling limit with any one of these lost: feed_lost, panel_lost,
    cooling_unit_lost. The normal state counts always; two losses at once are not promised."""
    exposed_training: float = 0.30
    """Share of a training step in communication that computing does not hide: see spread.py."""
    exposed_fine_tuning: float = 0.30
    exposed_eval: float = 0.0
    stretch_pod: float = 1.18
    """How much longer communication takes between the blocks of one pod than within a block."""
    stretch_cluster: float = 1.37
    """The same between pods."""
    staging_gb_per_s: float = 2.0
    """At this rate a node is expected to stage a dataset that it does not hold."""
    doubt_s: float = 604800.0
    """Evidence against a node younger than this, and not judged by a gate, puts it behind the others."""
    protect_s: float = 600.0
    """A run whose job was preempted before is not preempted for a tier again within this time of its start,
    so that no job is started and sent away in turns. Loans come back whenever they are called."""
    solver_limit_s: float = 0.5
    """Seconds of wall time that the solver may take for one GPU model in one tick; 0 = greedy alone."""
    search_budget: int = 128
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
        if "failure_states" in values:
            values["failure_states"] = _failure_states(values["failure_states"])
        return cls(**values)  # type: ignore[arg-type]


FAILURE_STATES = ("feed_lost", "panel_lost", "cooling_unit_lost")


def _failure_states(value: object) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise ValueError(f"failure_states is {value!r}: give a list of {', '.join(FAILURE_STATES)}")
    states = tuple(str(state) for state in value)
    for state in states:
        if state not in FAILURE_STATES:
            raise ValueError(f"unknown failure state {state!r}; allowed: {', '.join(FAILURE_STATES)}")
    return states
