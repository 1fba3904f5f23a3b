"""The contract of an engine: it runs what it is told and reports what it sees. It decides nothing.

Every engine shall keep these promises; tests/contract holds them against each one:
- `launch` twice with one key starts one gang, also when the first has ended long ago; a gang starts with all
  its members or not at all. What it can never start it refuses (LaunchRefused), and nothing has started.
- `stop` before `launch` means that this key never starts. Stopping twice is fine: the first window counts.
- The grace window of `stop` begins with the call. A gang that leaves early gives its GPUs back early.
- GPUs are free only when an observation says ENDED. What cannot be seen is UNKNOWN, never ENDED.
- An end that has been reported stays as it was reported, however often it is asked for.
- Times in observations are the engine's own clock, the same that `now` reads.
- `now` and `speed` answer at any time, also when everything else is out of reach.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol


class EnginePhase(StrEnum):
    ABSENT = "absent"
    """The engine is sure that it never heard of this key."""
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    ENDED = "ended"
    UNKNOWN = "unknown"


class EndCause(StrEnum):
    COMPLETED = "completed"
    FAILED = "failed"
    STOPPED = "stopped"
    NODE_LOST = "node_lost"


class EngineUnreachable(Exception):
    """The engine did not answer. Nothing is known, nothing may be concluded: not even that it did not act."""


class LaunchRefused(Exception):
    """The engine will never start this gang, whenever it is asked. Its text names field, value and mend."""


@dataclass(frozen=True, slots=True)
class LaunchSpec:
    """One gang to start. Seconds throughout."""

    launch_key: str
    job_id: int
    run_number: int
    members: Mapping[str, Sequence[int]]
    """node name → GPU indices"""
    expected_duration_s: float
    resume_from_s: float = 0.0
    checkpoint_interval_s: float | None = None
    checkpoint_cost_s: float = 0.0
    checkpoint_on_signal: bool = True
    restart_cost_s: float = 0.0
    dataset: str = ""
    dataset_gb: float | None = None
    stage_on: Sequence[str] = ()
    """nodes on which the dataset is not yet"""
    code_version: str = ""
    workload: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Activity:
    """How many of the gang's GPUs computed, and when that was measured."""

    busy_gpus: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Observation:
    """What the engine sees of one gang."""

    launch_key: str
    phase: EnginePhase
    ready_at: datetime | None = None
    ended_at: datetime | None = None
    cause: EndCause | None = None
    exit_code: int | None = None
    progress_s: float | None = None
    """Seconds of work done, counted from the start of the job."""
    checkpoints: Sequence[tuple[datetime, float]] = ()
    """Durable ones, oldest first: (time, progress_s). Of many, the newest are enough."""
    activity: Activity | None = None
    not_ready: Sequence[str] = ()
    """Nodes whose member is not ready yet."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class NodeReport:
    """What the engine sees of one node. `since` names the moment it changed; None = not known."""

    node: str
    alive: bool | None
    at: datetime
    since: datetime | None = None


class Engine(Protocol):
    """See the module's promises."""

    name: str

    def now(self) -> datetime:
        """The engine's clock, with zone."""

    def speed(self) -> float:
        """Seconds of this clock in a second of the wall clock."""

    def launch(self, spec: LaunchSpec) -> None:
        """Raises LaunchRefused or EngineUnreachable."""

    def request_checkpoint(self, launch_key: str) -> None:
        """Ask the gang to save now; it goes on. Raises EngineUnreachable."""

    def stop(self, launch_key: str, *, grace_s: float) -> None:
        """Signal the gang to save and leave, and end it after the window. Raises EngineUnreachable."""

    def observe(self, launch_keys: Sequence[str]) -> list[Observation]:
        """One for each key, in the order asked. Raises EngineUnreachable."""

    def observe_nodes(self, names: Sequence[str]) -> list[NodeReport]:
        """One for each name, in the order asked. Raises EngineUnreachable."""
