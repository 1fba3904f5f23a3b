"""What a job's workload tells the simulated engine: the truth about it, which the scheduler never sees."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from cluster.engines.contract import LaunchRefused

NEVER_READY = 0.005
"""Share of launches in which some member never becomes ready."""


@dataclass(frozen=True, slots=True)
class Workload:
    """Seconds and shares (0 to 1). Keys that are not named here belong to somebody else."""

    work_s: float | None = None
    """True work of the whole job; None = as long as was expected."""
    fail_after_s: float | None = None
    """Work, from the start of the run, after which it fails by itself."""
    idle_from: float = 2.0
    idle_to: float = 2.0
    """Between these shares of its work only `idle_busy_share` of its GPUs compute."""
    idle_busy_share: float = 0.0
    start_s: float | None = None
    """Start-up of the gang; None = drawn evenly between 20 and 90 seconds."""
    never_ready: float = NEVER_READY
    silent: bool = False
    """No activity signal comes from it."""

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> "Workload":
        """Raises LaunchRefused naming the key and value: a workload is a tenant's own writing."""
        known = {f.name for f in fields(cls)}
        values = {key: _checked(key, value) for key, value in given.items() if key in known}
        return cls(**values)

    def as_json(self) -> dict[str, float | bool]:
        """Only what differs from the default."""
        stated = ((f.name, getattr(self, f.name), f.default) for f in fields(self))
        return {name: value for name, value, default in stated if value != default}


def _checked(key: str, value: Any) -> float | bool | None:
    if key == "silent":
        if isinstance(value, bool):
            return value
        raise LaunchRefused(f"workload.{key} is {value!r}: true or false is needed")
    optional = key in ("work_s", "fail_after_s", "start_s")
    if value is None and optional:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        unit = "seconds" if key.endswith("_s") else "a share"
        raise LaunchRefused(f"workload.{key} is {value!r}: {unit} as a number of at least 0 is needed")
    return float(value)
