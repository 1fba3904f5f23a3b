"""Whatever people, nodes, engine and workers do in whatever order: the audit holds after every tick."""

from dataclasses import dataclass
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from cluster.engines import simulated
from cluster.engines.registry import get_engine
from cluster.models import Job
from cluster.services.cancel_job import cancel_job
from cluster.services.drain_node import drain_node, resume_node
from cluster.services.hold_job import hold_job, release_job
from fleet.models import Gpu, Node, NodeState
from tests.contract.unreachable import UnreachableEngine
from tests.pipeline.audit import AuditedCluster
from tests.pipeline.crash import Saboteur, tick_until_killed, undone
from tests.pipeline.test_crash import the_lease_runs_out

WORKLOADS: dict[str, dict[str, Any]] = {
    "plain": {},
    "fails": {"fail_after_s": 200},
    "silent": {"silent": True},
    "idle": {"idle_from": 0.1, "idle_to": 0.6},
    "never ready": {"never_ready": 1.0},
    "nonsense": {"work_s": "soon"},
}
EXAMPLES = 12
MOST_STRIDES = 60


@dataclass
class Play:
    """One example: a cluster and the jobs submitted to it so far."""

    tiny: AuditedCluster
    teams: list[Any]
    jobs: list[Job]

    def submit(self, team: int, gpus: int, tier: str, work_s: int, workload: str, grace_s: int) -> None:
        job = self.tiny.submit(
            self.teams[team],
            gpus=min(gpus, 32) if tier == "production" else gpus,  # it cannot borrow: more would never start
            tier=tier,
            expected_duration_s=work_s,
            grace_s=grace_s,
            checkpoint_cost_s=40,
            checkpoint_interval_s=150,
            checkpoint_on_signal=work_s % 2 == 0,
            readiness_timeout_s=200,
            retry_limit=2,
            workload=WORKLOADS[workload],
        )
        self.jobs.append(job)

    def act(self, verb: str, which: int) -> None:
        """What a person does to some job or node; a refusal is an answer, too."""
        tiny, by = self.tiny, self.tiny.owner
        node = Node.objects.order_by("name")[which % 8]
        try:
            if verb == "drain":
                drain_node(by=by, node=node, reason="a look inside")
            elif verb == "resume":
                resume_node(by=by, node=node)
            elif verb == "lose" and get_engine().observe_nodes([node.name])[0].alive:
                tiny.lose(node.name, repair_s=120.0 * (1 + which % 5))
            elif verb == "spoil":
                Gpu.objects.filter(node=node, index=which % 8).update(state=NodeState.QUARANTINE)
            elif verb in ("cancel", "hold", "release") and self.jobs:
                job = tiny.fresh(self.jobs[which % len(self.jobs)])
                {
                    "cancel": lambda: cancel_job(by=by, job=job),
                    "hold": lambda: hold_job(by=by, job=job, reason="not yet"),
                    "release": lambda: release_job(by=by, job=job),
                }[verb]()
        except ValidationError:
            pass

    def tick(self, kind: str, number: int, monkeypatch) -> None:
        if kind == "plain":
            self.tiny.tick()
        elif kind == "down":
            self.tiny.tick_with(UnreachableEngine(get_engine(), answers_left=number % 8))
        elif kind == "answers lost":
            self.tiny.tick_with(UnreachableEngine(get_engine(), loses_answers=True, answers_left=number % 8))
        else:
            tick_until_killed(Saboteur(number), monkeypatch)
            the_lease_runs_out()

    def put_right(self) -> None:
        """People and nodes do their best, so that every job can come to its end."""
        Node.objects.update(drain_asked_at=None, drain_by=None, drain_reason="")
        Gpu.objects.update(state=NodeState.ELIGIBLE)
        Job.objects.update(admin_hold=False, hold_reason="")
        for _ in range(MOST_STRIDES):
            left = [str(job) for job in map(self.tiny.fresh, self.jobs) if not job.is_over]
            if not left:
                return
            self.tiny.advance(290)
        raise AssertionError(f"not over after {MOST_STRIDES} strides: {', '.join(left)}")


submit = st.tuples(
    st.just("submit"),
    st.tuples(
        st.integers(0, 1),
        st.sampled_from([1, 4, 8, 12, 16, 32, 64]),
        st.sampled_from(["production", "research", "best_effort"]),
        st.integers(50, 900),
        st.sampled_from(sorted(WORKLOADS)),
        st.sampled_from([0, 30, 200]),
    ),
)
act = st.tuples(
    st.just("act"),
    st.tuples(
        st.sampled_from(["cancel", "hold", "release", "drain", "resume", "lose", "spoil"]),
        st.integers(0, 40),
    ),
)
move = st.tuples(st.just("move"), st.tuples(st.sampled_from([1, 20, 60, 150, 400])))
tick = st.tuples(
    st.just("tick"),
    st.tuples(st.sampled_from(["plain", "plain", "down", "answers lost", "killed"]), st.integers(0, 60)),
)


@pytest.fixture
def plain_starts(monkeypatch):
    """Every gang is ready after 30 seconds, so that an example that fails does so again."""
    monkeypatch.setattr(simulated, "START_S", (30.0, 30.0))


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # to shrink a story takes minutes; it is readable
)
@given(story=st.lists(st.one_of(submit, act, move, tick), min_size=8, max_size=30))
def test_the_audit_holds_whatever_happens(lab, plain_starts, monkeypatch, story):
    with undone(lab.tiny):
        play = Play(lab.tiny, [lab.vision, lab.speech], [])
        lab.tiny.tick()
        for verb, details in story:
            if verb == "move":
                lab.tiny.move(*details)
            elif verb == "tick":
                play.tick(*details, monkeypatch)
            else:
                getattr(play, verb)(*details)
        lab.tiny.tick()
        play.put_right()
