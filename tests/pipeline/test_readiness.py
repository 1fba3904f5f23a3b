"""A gang that does not become ready: torn down whole, evidence, back-off, and an end to it."""

from datetime import timedelta

from cluster.models import Allocation, Event, JobState, RunOutcome, RunState
from fleet.models import Evidence, EvidenceKind

NEVER = {"workload": {"never_ready": 1.0}, "readiness_timeout_s": 90}


def test_it_is_torn_down_whole_and_the_nodes_that_were_not_ready_get_evidence(lab):
    tiny = lab.tiny
    job = tiny.submit(lab.vision, gpus=32, **NEVER)
    tiny.tick()
    run, age = tiny.run_of(job), job.queued_at
    tiny.advance(89)
    assert tiny.fresh(run).state == RunState.STARTING

    tiny.advance(1)
    assert tiny.fresh(run).state == RunState.STOPPING
    evidence = Evidence.objects.get(kind=EvidenceKind.FAILED_START)
    members = set(run.allocations.values_list("node__name", flat=True))
    assert evidence.node.name in members and len(members) == 4, "the one it waited for, not all four"

    tiny.advance(1)
    assert tiny.fresh(run).outcome == RunOutcome.START_FAILED and run.lost_s == 0.0
    assert not Allocation.objects.filter(released_at=None).exists()
    assert (tiny.fresh(job).state, job.queued_at, job.retries) == (JobState.PENDING, age, 1)
    assert job.not_before == run.ended_at + timedelta(seconds=60)


def test_the_back_off_doubles_and_the_retry_limit_ends_it_with_a_reason(lab):
    tiny = lab.tiny
    job = tiny.submit(lab.vision, gpus=8, retry_limit=3, **NEVER)
    tiny.tick()
    tiny.advance(960, every_s=30)

    starts = [run.planned_at for run in job.runs.order_by("number")]
    ends = [run.ended_at for run in job.runs.order_by("number")]
    waits = [(start - end).total_seconds() for end, start in zip(ends, starts[1:], strict=False)]
    assert [wait // 60 * 60 for wait in waits] == [60.0, 120.0, 240.0]
    assert tiny.fresh(job).state == JobState.FAILED
    assert job.state_reason == "start failed after 3 retries, its limit"
    assert Event.objects.filter(job=job, kind="job.not_ready").count() == 4
    heir = tiny.submit(lab.vision, gpus=32)
    tiny.tick()
    assert tiny.fresh(heir).state == JobState.ACTIVE, "what is given up holds neither GPUs nor quota"


def test_while_it_backs_off_others_use_its_place(lab):
    tiny = lab.tiny
    tiny.submit(lab.vision, gpus=32, **NEVER)
    tiny.submit(lab.speech, gpus=32)
    tiny.tick()
    tiny.advance(90)
    tiny.advance(1)
    small = tiny.submit(lab.vision, gpus=8)
    tiny.tick()

    assert tiny.fresh(small).state == JobState.ACTIVE


def test_the_back_off_is_over_when_it_starts_again(lab):
    tiny = lab.tiny
    job = tiny.submit(lab.vision, gpus=8, **NEVER)
    tiny.tick()
    tiny.advance(90)
    tiny.advance(1)
    assert tiny.fresh(job).not_before is not None
    tiny.advance(70)
    assert tiny.fresh(job).state == JobState.ACTIVE and job.not_before is None
