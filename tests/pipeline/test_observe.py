"""The world as it is read: in a constant number of queries, and after a plan the same as read anew."""

from django.db import connection
from django.test.utils import CaptureQueriesContext

from cluster.pipeline import tick as module
from cluster.pipeline.observe import observe
from cluster.scheduler.words import Phase
from fleet.models import Gpu, NodeState


def queries_of(at) -> int:
    with CaptureQueriesContext(connection) as queries:
        observe(at)
    return len(queries)


def test_the_number_of_queries_does_not_grow_with_the_queue_the_runs_or_the_reservations(lab):
    tiny = lab.tiny
    tiny.running(lab.vision, gpus=32)
    tiny.submit(lab.vision, gpus=64, tier="research")
    tiny.tick()
    few = queries_of(tiny.now)
    for tenant in (lab.vision, lab.speech):
        for gpus in (1, 2, 4, 8, 16):
            tiny.submit(tenant, gpus=gpus)
    tiny.tick()

    assert queries_of(tiny.now) <= few + 1  # the nodes of reservations, when there are any
    assert few <= 21


def test_reading_what_is_planned_asks_for_no_further_columns(lab):
    """A column left out of PLANNED would be fetched job by job."""
    tiny = lab.tiny
    tiny.running(lab.vision, gpus=64)
    for _ in range(5):
        tiny.submit(lab.speech, gpus=8)
    tiny.tick()
    with CaptureQueriesContext(connection) as queries:
        tiny.tick()

    one_by_one = 'FROM "cluster_job" WHERE "cluster_job"."id" ='
    assert [q["sql"] for q in queries if one_by_one in q["sql"]] == []


def test_equal_jobs_share_one_shape(lab):
    for _ in range(3):
        lab.tiny.submit(lab.vision, gpus=16)
    lab.tiny.submit(lab.vision, gpus=16, locality_required="block")
    queues = observe(lab.tiny.now).world.queues

    assert sorted(len(queue) for queue in queues.values()) == [1, 3]


def test_a_bad_gpu_does_not_count_as_one(lab):
    Gpu.objects.filter(node__name="p1b1n1", index__lt=3).update(state=NodeState.QUARANTINE)
    fleet = observe(lab.tiny.now).world.fleet

    assert {node.name: node.gpus for node in fleet.nodes}["p1b1n1"] == 5
    assert fleet.usable_gpus == {"H100": 61}


def test_the_world_after_a_plan_is_what_would_be_read_anew(lab, monkeypatch):
    """The books are kept from the first, so that they need no second reading."""
    tiny = lab.tiny
    tiny.running(lab.vision, gpus=32)
    tiny.running(lab.vision, gpus=32, grace_s=300)
    tiny.submit(lab.speech, gpus=32)
    tiny.submit(lab.speech, gpus=8)
    kept = []
    after = module.after
    monkeypatch.setattr(module, "after", lambda *args: kept.append(after(*args)) or kept[0])
    tiny.tick()
    first = kept[0].world
    anew = observe(tiny.now).world

    assert {(r.id, r.shape, tuple(r.placement.items()), r.started_s) for r in first.runs.values()} == {
        (r.id, r.shape, tuple(r.placement.items()), r.started_s) for r in anew.runs.values()
    }
    assert {j.id for j in first.pending} == {j.id for j in anew.pending}
    assert {k: dict(v.target) for k, v in first.reservations.items()} == {
        k: dict(v.target) for k, v in anew.reservations.items()
    }
    assert any(run.phase is Phase.STOPPING for run in anew.runs.values())
