"""One bench for every engine: how to make a gang of a certain kind, let time pass, and break a node."""

import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import pytest

from cluster.engines.contract import Engine, LaunchSpec, NodeReport, Observation
from cluster.engines.registry import engine_named
from cluster.engines.simulated import lose_node, pin_clock
from cluster.models import SimulatedClock, SimulatedGang

T0 = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
MEMBERS = {"n1": (0, 1, 2, 3), "n2": (0, 1, 2, 3)}


class Bench(Protocol):
    """What the suite asks of an engine's test bench. Times in seconds."""

    engine: Engine
    ready_within_s: float
    """A gang of this bench is ready so long after its launch."""

    def spec(self, *, work_s: float = 3600.0, kind: str = "plain", **more: Any) -> LaunchSpec:
        """A gang of MEMBERS. Kinds: plain, failing (half-way), never_ready, silent, idle."""

    def pass_time(self, seconds: float) -> None: ...

    def lose(self, node: str, *, for_s: float = 3600.0) -> None: ...

    def gangs_started(self, launch_key: str) -> int: ...


class SimulatedBench:
    ready_within_s = 90.0

    def __init__(self) -> None:
        self.engine = engine_named("simulated")
        self.at = T0
        pin_clock(T0)
        SimulatedClock.objects.update(node_failures_per_1000_days=0.0)

    def spec(self, *, work_s: float = 3600.0, kind: str = "plain", **more: Any) -> LaunchSpec:
        kinds: Mapping[str, Mapping[str, Any]] = {
            "plain": {},
            "failing": {"fail_after_s": work_s / 2},
            "never_ready": {"never_ready": 1.0},
            "silent": {"silent": True},
            "idle": {"idle_from": 0.0, "idle_to": 1.0},
            "nonsense": {"work_s": "two hours"},
        }
        workload = {"never_ready": 0.0, "work_s": work_s, **kinds[kind], **more.pop("workload", {})}
        asked = {"launch_key": str(uuid.uuid4()), "job_id": 1, "run_number": 1, "members": MEMBERS, **more}
        return LaunchSpec(expected_duration_s=work_s, workload=workload, **asked)

    def pass_time(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)
        pin_clock(self.at)

    def lose(self, node: str, *, for_s: float = 3600.0) -> None:
        lose_node(node, repair_s=for_s)

    def gangs_started(self, launch_key: str) -> int:
        return SimulatedGang.objects.filter(launch_key=launch_key).exclude(nodes={}).count()


BENCHES = {"simulated": SimulatedBench}


@pytest.fixture(params=sorted(BENCHES))
def bench(request, db) -> Bench:
    return BENCHES[request.param]()


@pytest.fixture
def see(bench):
    """see(key) → the engine's one observation of it."""

    def look(key: str) -> Observation:
        (seen,) = bench.engine.observe([key])
        assert seen.launch_key == key
        return seen

    return look


@pytest.fixture
def see_nodes(bench):
    def look(*names: str) -> Sequence[NodeReport]:
        return bench.engine.observe_nodes(list(names))

    return look


@pytest.fixture
def running(bench, see):
    """running(**spec) → the spec of a gang that is launched and ready."""

    def start(**asked: Any) -> LaunchSpec:
        spec = bench.spec(**asked)
        bench.engine.launch(spec)
        bench.pass_time(bench.ready_within_s + spec.restart_cost_s)
        assert see(spec.launch_key).ready_at is not None
        return spec

    return start
