"""Replay speed on the Philly sample, on the cluster derived for it, under the usual policy."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cluster.replay.cluster_choice import choose_cluster
from cluster.replay.run import run
from cluster.replay.schemes import schemes
from cluster.replay.setup import set_up
from cluster.scheduler.policy import Policy
from cluster.traces import read_trace


@dataclass(frozen=True, slots=True)
class ReplaySpeed:
    trace: str
    jobs: int
    gpus: int
    ticks: int
    prepare_s: float
    """reading the file and deriving the cluster"""
    seconds: float

    @property
    def jobs_per_s(self) -> float:
        return self.jobs / self.seconds


def measure_replay(file: Path, tell: Callable[[str], object]) -> ReplaySpeed:
    """Raises TraceError when the file cannot be read."""
    tell(f"reading {file.name}")
    began = time.perf_counter()
    trace = read_trace(file)
    cluster = choose_cluster(trace, None)
    setup = set_up(trace, cluster.description, cluster.tenant_names, cluster.models)
    prepare_s = time.perf_counter() - began
    scheme = schemes(Policy())[0]
    total = len(setup.jobs)
    metrics = run(setup, scheme, lambda ended, _: tell(f"replaying, {ended:,} of {total:,} jobs"))
    return ReplaySpeed(
        file.name, metrics.jobs, metrics.installed_gpus, metrics.ticks, prepare_s, metrics.seconds
    )
