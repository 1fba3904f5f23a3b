"""An engine out of reach: nothing is concluded, nothing is done twice, and all is made up for afterwards."""

import pytest

from cluster.engines.contract import EnginePhase, NodeReport, Observation
from cluster.engines.registry import get_engine
from cluster.models import Allocation, JobState, RunOutcome, RunState, SimulatedGang, UsageInterval
from cluster.pipeline.reconcile import reconcile
from cluster.services.cancel_job import cancel_job
from fleet.models import Node, NodeState
from tests.contract.unreachable import UnreachableEngine


@pytest.fixture
def crowd(tiny):
    return tiny.tenant("crowd", gpus=128)


def down(**how) -> UnreachableEngine:
    return UnreachableEngine(get_engine(), **how)


def test_nothing_is_concluded_while_nobody_answers(tiny, crowd):
    job = tiny.running(crowd, gpus=16, expected_duration_s=600)
    run = tiny.run_of(job)
    tiny.lose("p2b2n2")
    tiny.move(3600)
    tick = tiny.tick_with(down())

    assert tick.note == "the engine simulated did not answer"
    assert tiny.fresh(run).state == RunState.RUNNING and tiny.fresh(job).state == JobState.ACTIVE
    assert Allocation.objects.filter(run=run, released_at=None).count() == 16
    assert not Node.objects.exclude(state=NodeState.ELIGIBLE).exists()


def test_a_gang_out_of_sight_is_not_torn_down_for_not_being_ready(tiny, crowd):
    job = tiny.submit(crowd, gpus=16, readiness_timeout_s=300, expected_duration_s=90_000)
    tiny.tick()
    run = tiny.run_of(job)
    tiny.move(3600)
    tiny.tick_with(down())
    unknown = Observation(str(run.launch_key), EnginePhase.UNKNOWN)
    reconcile(tiny.now, [unknown])
    assert tiny.fresh(run).state == RunState.STARTING

    tiny.tick()

    assert tiny.fresh(run).state == RunState.RUNNING


class BlindEngine:
    """Answers, but cannot see: neither the gangs nor the nodes."""

    def __init__(self, engine) -> None:
        self.engine, self.name, self.now, self.speed = engine, engine.name, engine.now, engine.speed
        self.launch, self.stop, self.request_checkpoint = (
            engine.launch,
            engine.stop,
            engine.request_checkpoint,
        )

    def observe(self, keys):
        return [Observation(key, EnginePhase.UNKNOWN) for key in keys]

    def observe_nodes(self, names):
        return [NodeReport(name, None, self.now()) for name in names]


def test_what_cannot_be_seen_for_a_while_goes_on_as_if_nothing_had_been(tiny, crowd):
    job = tiny.running(crowd, gpus=64, expected_duration_s=7200)
    run = tiny.run_of(job)
    seen_at = Node.objects.get(name="p1b1n1").last_seen_at
    for _ in range(3):
        tiny.move(200)
        tiny.tick_with(BlindEngine(get_engine()))
    assert tiny.fresh(run).state == RunState.RUNNING
    node = Node.objects.get(name="p1b1n1")
    assert (node.state, node.last_seen_at) == (NodeState.ELIGIBLE, seen_at)
    assert UsageInterval.objects.filter(run=run, ended_at=None).get().state == "unknown_allocated"

    tiny.advance(60)

    assert tiny.fresh(run).state == RunState.RUNNING and tiny.fresh(job).retries == 0
    assert UsageInterval.objects.filter(run=run, ended_at=None).get().state == "busy"


def test_what_was_decided_meanwhile_is_launched_when_it_answers_again(tiny, crowd):
    job = tiny.submit(crowd, gpus=16)
    tiny.tick_with(down())
    run = tiny.run_of(job)
    assert (run.state, run.launched_at) == (RunState.LAUNCHING, None)
    tiny.move(7200)
    tiny.tick()

    assert tiny.fresh(run).launched_at == tiny.now, "the readiness timeout counts from here"
    assert SimulatedGang.objects.count() == 1


@pytest.mark.parametrize("answers", range(8))
def test_a_launch_whose_answer_was_lost_is_not_repeated(tiny, crowd, answers):
    jobs = [tiny.submit(crowd, gpus=8) for _ in range(3)]
    tiny.tick_with(down(loses_answers=True, answers_left=answers))
    tiny.advance(1)
    tiny.advance(120)

    assert SimulatedGang.objects.count() == 3
    assert all(tiny.run_of(job).state == RunState.RUNNING for job in jobs)


def test_a_late_end_is_booked_at_its_own_time(tiny, crowd):
    job = tiny.running(crowd, gpus=16, expected_duration_s=600)
    run = tiny.run_of(job)
    for _ in range(6):
        tiny.move(300)
        tiny.tick_with(down())
    assert UsageInterval.objects.filter(run=run, ended_at=None).get().state == "unknown_allocated"
    tiny.advance(300)

    ended_at = tiny.fresh(run).ended_at
    assert (ended_at - run.ready_at).total_seconds() == pytest.approx(600)
    assert UsageInterval.objects.filter(run=run).latest("ended_at").ended_at == ended_at


def test_a_late_readiness_is_booked_at_its_own_time(tiny, crowd):
    job = tiny.submit(crowd, gpus=16, expected_duration_s=90_000)
    tiny.tick()
    for _ in range(3):
        tiny.move(300)
        tiny.tick_with(down())
    tiny.advance(300)

    run = tiny.run_of(job)
    states = UsageInterval.objects.filter(run=run).order_by("started_at").values_list("state", "started_at")
    assert list(states)[:2] == [("starting", run.planned_at), ("busy", run.ready_at)]


def test_a_late_or_repeated_report_changes_nothing(tiny, crowd):
    job = tiny.running(crowd, gpus=16, expected_duration_s=600)
    run = tiny.run_of(job)
    (early,) = get_engine().observe([str(run.launch_key)])
    tiny.advance(900)
    (last,) = get_engine().observe([str(run.launch_key)])
    assert tiny.fresh(job).state == JobState.COMPLETED
    before = tiny.fresh(run).__dict__.copy()

    for report in (early, last, last):
        learned = reconcile(tiny.now, [report])
        assert (learned.ended, learned.events) == (0, [])

    after = tiny.fresh(run).__dict__
    assert {k: v for k, v in after.items() if k[0] != "_"} == {k: v for k, v in before.items() if k[0] != "_"}


def test_what_an_engine_has_lost_is_over_and_its_job_tried_again(tiny, crowd):
    job = tiny.running(crowd, gpus=16)
    first = tiny.run_of(job)
    SimulatedGang.objects.all().delete()
    tiny.advance(60)

    assert tiny.fresh(first).outcome == RunOutcome.NODE_FAILURE
    assert tiny.run_of(job).number == 2


def test_gpus_stay_taken_until_the_engine_knows_that_the_run_is_to_stop(tiny, crowd):
    """A worker that has fallen behind may still be about to launch it."""
    job = tiny.submit(crowd, gpus=16)
    tiny.tick_with(down())
    run = tiny.run_of(job)
    cancel_job(by=tiny.owner, job=job)
    tiny.tick_with(down(answers_left=2))  # the engine says ABSENT, but the stop does not get through
    assert tiny.fresh(run).state == RunState.STOPPING
    assert Allocation.objects.filter(run=run, released_at=None).count() == 16

    tiny.advance(10)
    tiny.advance(10)
    assert tiny.fresh(job).state == JobState.CANCELLED
    assert not SimulatedGang.objects.exclude(nodes={}).exists()
