"""How much longer a gang runs when it is spread out, and whether it should wait for a compact set instead.

    slowdown = 1 + exposed · (stretch − 1)

`exposed` is the share of a step spent in communication that computing does not hide; `stretch` is how much
longer that communication takes on the links between the pieces of the gang. A stated duration is that of a
gang within one block. The defaults of the policy are set so that a training job across pods is 11 % slower,
as measured in production for contended links (Crux, SIGCOMM 2024), with 30 % of a step exposed; half of that
within one pod is our assumption. Owners who have measured their own pairs put them into the policy.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from cluster.scheduler.fleet import Fleet
from cluster.scheduler.policy import Policy
from cluster.scheduler.words import Locality

LEAST_GAIN_S = 60.0
"""Nobody waits, and no target moves, for less than this."""


class Objective(StrEnum):
    """What a job would have of its start."""

    COMPLETION = "completion"
    """Done as early as possible."""
    DEADLINE = "deadline"
    """Done by its deadline, at the least cost that meets it."""
    COST = "cost"
    """At the least cost in GPU-hours, whenever that is."""


@dataclass(frozen=True, slots=True)
class Option:
    """One way to start a gang. Seconds on the world's clock."""

    start_s: float
    done_s: float
    gpu_hours: float
    level: Locality
    """the smallest domain that contains the set"""
    blocks: int
    slowdown: float


@dataclass(frozen=True, slots=True)
class Choice:
    """The two ways that were weighed, and which was taken."""

    now: Option
    later: Option
    waits: bool
    objective: Objective

    def as_json(self) -> dict[str, Any]:
        """Seconds on the world's clock, GPU-hours."""
        return {
            "waits": self.waits,
            "objective": self.objective.value,
            "now": _option_json(self.now),
            "later": _option_json(self.later),
        }


def _option_json(option: Option) -> dict[str, Any]:
    return {**asdict(option), "level": option.level.value}


def exposed_share(policy: Policy, kind: str) -> float:
    """Share of a step in exposed communication; 0 for kinds that the policy does not name."""
    return {
        "training": policy.exposed_training,
        "fine_tuning": policy.exposed_fine_tuning,
        "eval": policy.exposed_eval,
    }.get(kind, 0.0)


def stretch(policy: Policy, level: Locality) -> float:
    """How much longer communication takes across this level than within one block."""
    return {Locality.POD: policy.stretch_pod, Locality.CLUSTER: policy.stretch_cluster}.get(level, 1.0)


def slowdown(policy: Policy, kind: str, level: Locality) -> float:
    """Runtime within one domain of this level, as a multiple of that within one block; at least 1."""
    return max(1.0, 1.0 + exposed_share(policy, kind) * (stretch(policy, level) - 1.0))


def level_of(fleet: Fleet, nodes: Iterable[int]) -> Locality:
    """The smallest domain that contains these nodes."""
    places = [fleet.within[index] for index in nodes]
    if len(places) <= 1:
        return Locality.NODE
    if len({block for block, _, _ in places}) == 1:
        return Locality.BLOCK
    return Locality.POD if len({pod for _, pod, _ in places}) == 1 else Locality.CLUSTER


def blocks_of(fleet: Fleet, nodes: Iterable[int]) -> int:
    return len({fleet.within[index][0] for index in nodes})


def slowdown_on(policy: Policy, kind: str, fleet: Fleet, placement: Mapping[int, int]) -> float:
    """The slowdown of a gang that stands here."""
    if not exposed_share(policy, kind) or len(placement) <= 1:
        return 1.0
    return slowdown(policy, kind, level_of(fleet, placement))


def waits(now: Option, later: Option, objective: Objective, deadline_s: float | None) -> bool:
    """Is the later start better for what the job wants?"""
    sooner = later.done_s < now.done_s - LEAST_GAIN_S
    cheaper = later.gpu_hours < now.gpu_hours
    if objective is Objective.COST:
        return cheaper
    if objective is Objective.DEADLINE and deadline_s is not None:
        if later.done_s <= deadline_s:
            return cheaper or now.done_s > deadline_s
        return sooner and now.done_s > deadline_s
    return sooner
