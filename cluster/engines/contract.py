"""The contract of an engine: it runs what it is told and reports what it sees. It decides nothing.

Every engine shall keep these promises; tests/contract holds them against each one:
- `launch` twice with one key starts one gang; a gang starts with all its members or not at all.
- `stop` before `launch` means that this key never starts. Stopping twice is fine.
- GPUs are free only when an observation says ENDED. What cannot be seen is UNKNOWN, never ENDED.
- Times in observations are the engine's own clock, the same that `now` reads.
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
    """The engine did not answer. Nothing is known, nothing may be concluded."""


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
    """Durable ones, oldest first: (time, progress_s)."""
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

    def launch(self, spec: LaunchSpec) -> None: ...

    def request_checkpoint(self, launch_key: str) -> None: ...

    def stop(self, launch_key: str, *, grace_s: float) -> None: ...

    def observe(self, launch_keys: Sequence[str]) -> list[Observation]: ...

    def observe_nodes(self, names: Sequence[str]) -> list[NodeReport]: ...
