"""Lost nodes, drained nodes, single bad GPUs: what runs there, what starts there, and who is told."""

import pytest
from django.core.exceptions import ValidationError

from cluster.models import Allocation, Event, JobState, RunOutcome, RunState
from cluster.services.drain_node import drain_node, resume_node
from fleet.models import Evidence, EvidenceKind, Gpu, Node, NodeState


def nodes_of(job) -> set[str]:
    open_rows = Allocation.objects.filter(run__job=job, released_at=None)
    return set(open_rows.values_list("node__name", flat=True))


@pytest.fixture
def crowd(tiny):
    return tiny.tenant("crowd", gpus=128)


def test_a_lost_node_halts_the_gang_and_the_job_resumes_elsewhere(tiny, crowd):
    job = tiny.running(
        crowd, gpus=32, expected_duration_s=7200, checkpoint_interval_s=600, checkpoint_cost_s=10
    )
    first = tiny.run_of(job)
    tiny.advance(1500, every_s=60)
    lost = sorted(nodes_of(job))[0]
    tiny.lose(lost, repair_s=3000)
    lost_at = tiny.now
    tiny.advance(30)

    node = Node.objects.get(name=lost)
    assert (node.state, node.state_since, node.takes_work) == (NodeState.REPAIR, lost_at, False)
    assert Evidence.objects.get(node=node).kind == EvidenceKind.NODE_LOST
    assert (tiny.fresh(first).outcome, first.ended_at) == (RunOutcome.NODE_FAILURE, lost_at)
    assert 0 < first.lost_s <= 600 + 10, "no more than one interval is lost"
    assert (tiny.fresh(job).state, job.retries) == (JobState.ACTIVE, 1), "it starts again in the same tick"
    second = tiny.run_of(job)
    assert lost not in nodes_of(job) and second.resumed_from_s == job.progress_s == 1200.0

    tiny.advance(3000)
    node = tiny.fresh(node)
    assert (node.state, node.state_reason, node.takes_work) == (NodeState.ELIGIBLE, "", True)
    assert Evidence.objects.filter(node=node, kind=EvidenceKind.NODE_BACK).count() == 1
    assert list(Event.objects.filter(node=node).values_list("kind", flat=True)) == [
        "node.repair",
        "node.eligible",
    ]
    tiny.advance(6600, every_s=600)
    assert tiny.fresh(job).state == JobState.COMPLETED


def test_only_jobs_on_the_lost_node_are_halted(tiny, crowd):
    jobs = [tiny.running(crowd, gpus=16) for _ in range(4)]
    lost = sorted(nodes_of(jobs[2]))[0]
    tiny.lose(lost)
    tiny.advance(30)

    assert [tiny.fresh(job).retries for job in jobs] == [0, 0, 1, 0]


def test_a_job_whose_nodes_keep_failing_is_given_up_with_its_reason(tiny, crowd):
    job = tiny.running(crowd, gpus=8, retry_limit=1)
    for _ in range(2):
        tiny.lose(*nodes_of(job))
        tiny.advance(120)

    assert tiny.fresh(job).state == JobState.FAILED
    assert job.state_reason == "node failure after 1 retries, its limit"


def test_whichever_of_the_lost_nodes_comes_back_is_used(tiny, crowd):
    jobs = [tiny.running(crowd, gpus=8, expected_duration_s=90_000) for _ in range(8)]
    tiny.lose("p1b1n1", repair_s=86_400)
    tiny.lose("p2b2n2", repair_s=600)
    tiny.advance(60)
    waiting = [job for job in jobs if tiny.fresh(job).state == JobState.PENDING]
    assert len(waiting) == 2
    tiny.advance(600)

    resumed = [job for job in waiting if tiny.fresh(job).state == JobState.ACTIVE]
    assert [nodes_of(job) for job in resumed] == [{"p2b2n2"}]


def test_a_node_lost_and_back_between_two_ticks_has_left_its_mark(tiny, crowd):
    job = tiny.running(crowd, gpus=8)
    (name,) = nodes_of(job)
    tiny.lose(name, repair_s=60)
    tiny.advance(600)
    tiny.advance(600)

    node = Node.objects.get(name=name)
    assert node.state == NodeState.ELIGIBLE and tiny.fresh(job).retries == 1
    assert Evidence.objects.get(node=node).detail == "it was lost between two reports"


def test_a_drained_node_gets_nothing_new_and_what_runs_there_runs_on(tiny, crowd):
    job = tiny.running(crowd, gpus=8)
    (name,) = nodes_of(job)
    node = drain_node(by=tiny.owner, node=Node.objects.get(name=name), reason="firmware")
    other = tiny.submit(crowd, gpus=56)
    late = tiny.submit(crowd, gpus=8)
    tiny.tick()

    assert name not in nodes_of(other) and tiny.fresh(late).state == JobState.PENDING
    assert tiny.run_of(job).state == RunState.RUNNING
    tiny.advance(3600, every_s=600)
    assert tiny.fresh(job).state == JobState.COMPLETED
    assert not Allocation.objects.filter(node=node, released_at=None).exists()


def test_a_persons_drain_is_lifted_by_a_person_only(tiny, crowd):
    node = drain_node(by=tiny.owner, node=Node.objects.get(name="p1b1n1"), reason="fan")
    tiny.lose("p1b1n1", repair_s=300)
    tiny.advance(60)
    assert tiny.fresh(node).state == NodeState.REPAIR
    tiny.advance(600)

    assert tiny.fresh(node).state == NodeState.ELIGIBLE
    assert not node.takes_work and (node.drain_by, node.drain_reason) == (tiny.owner, "fan")
    tiny.submit(crowd, gpus=64)
    tiny.tick()
    assert not Allocation.objects.filter(node=node).exists()
    with pytest.raises(ValidationError, match="drained already"):
        drain_node(by=tiny.owner, node=node, reason="again")

    resume_node(by=tiny.owner, node=node)
    tiny.tick()
    assert Allocation.objects.filter(node=node).count() == 8


def test_a_state_that_a_gate_has_set_outlives_the_return_of_the_node(tiny):
    tiny.lose("p1b1n1", repair_s=300)
    tiny.advance(60)
    Node.objects.filter(name="p1b1n1").update(state=NodeState.QUARANTINE, state_reason="three losses a week")
    tiny.advance(600)

    assert Node.objects.get(name="p1b1n1").state == NodeState.QUARANTINE


def test_a_bad_gpu_takes_itself_out_and_leaves_the_rest_of_its_node(tiny, crowd):
    bad = Gpu.objects.get(node__name="p1b1n1", index=3)
    bad.state = NodeState.QUARANTINE
    bad.save()
    whole = tiny.submit(crowd, gpus=8, locality_required="node")
    rest = [tiny.submit(crowd, gpus=1) for _ in range(63 - 8)]
    tiny.tick()

    assert "p1b1n1" not in nodes_of(whole)
    assert all(tiny.fresh(job).state == JobState.ACTIVE for job in rest)
    assert not Allocation.objects.filter(gpu=bad).exists()


def test_a_start_overtaken_by_a_drain_is_stale_and_tried_again(tiny, crowd, monkeypatch):
    from cluster.pipeline import tick as module

    job = tiny.submit(crowd, gpus=64)
    node = Node.objects.get(name="p1b1n1")

    def plan_slowly(world):
        decided = plan(world)
        drain_node(by=tiny.owner, node=node, reason="smoke")
        return decided

    plan = module.plan_jointly
    with monkeypatch.context() as slow:
        slow.setattr(module, "plan_jointly", plan_slowly)
        tick = tiny.tick()

    assert (tick.stale, tick.started, tick.held) == (1, 0, 1)
    decision = job.decisions.get(superseded_at=None)
    assert decision.verdicts[0]["note"] == "overtaken"
    resume_node(by=tiny.owner, node=node)
    tiny.tick()
    assert tiny.fresh(job).state == JobState.ACTIVE
