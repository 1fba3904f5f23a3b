"""What holds at every moment of every replay, and at its end."""

from collections import Counter

from hypothesis import HealthCheck, given, settings

from cluster.scheduler.capacity import Signal, classify
from cluster.scheduler.holdings import Holdings
from cluster.scheduler.plan import Plan
from cluster.scheduler.planner import plan
from cluster.scheduler.replay import Replay
from cluster.scheduler.validity import violations
from cluster.scheduler.world import World
from tests.scheduler.independent import could_ever_run, needless_victims
from tests.scheduler.random_worlds import Scene, scenes

MOST_TICKS = 2000
any_scene = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def replay_of(scene: Scene) -> Replay:
    """A replay in which every plan is checked against the rules before it is carried out."""

    def checked(world: World, explain: bool) -> Plan:
        decided = plan(world, explain)
        assert violations(world, decided) == []
        assert needless_victims(world, decided) == []
        return decided

    return Replay(scene.fleet, scene.tenants, scene.work, scene.policy, planner=checked)


@any_scene
@given(scenes())
def test_no_job_is_lost_and_whatever_can_run_ends(scene: Scene):
    replay = replay_of(scene)
    for _ in replay:
        assert replay.counts.ticks < MOST_TICKS, "the replay does not end"
        waiting = Counter(job.id for queue in replay.queues.values() for job in queue)
        held = Counter(run.job_id for run in replay.runs.values())
        ended = Counter(work.id for work in replay.works.values() if work.end_s is not None)
        assert waiting + held + ended == Counter(replay.works.keys())

    left = [work for work in replay.works.values() if work.end_s is None]
    assert [work.id for work in left if could_ever_run(replay.world(), work.shape)] == []
    assert not replay.runs


@any_scene
@given(scenes())
def test_every_gpu_is_in_one_state_and_the_books_agree_with_the_runs(scene: Scene):
    replay = replay_of(scene)
    installed = {index: node.gpus for index, node in enumerate(scene.fleet.nodes)}
    for _ in replay:
        world = replay.world()
        signals = {run_id: Signal(run_id % 2 == 0, (None, 1, 99)[run_id % 3]) for run_id in world.runs}
        cells = classify(world, signals, world.reservations, installed)
        assert sum(cells.values()) == sum(installed.values())
        assert all(gpus > 0 for gpus in cells.values())
        recount = Holdings(scene.fleet, world.runs.values())
        assert replay.holdings.supply.free == recount.supply.free
        assert replay.holdings.supply.counts == recount.supply.counts
        assert {k: v for k, v in replay.holdings.used.items() if any(v)} == recount.used


@any_scene
@given(scenes())
def test_what_each_job_did_adds_up(scene: Scene):
    replay = replay_of(scene)
    for _ in replay:
        pass
    assert sum(replay.holdings.supply.free) == sum(n.gpus for n in scene.fleet.nodes if n.usable)
    for work in replay.works.values():
        assert 0 <= work.done_s <= work.duration_s
        if work.end_s is not None:
            assert work.start_s is not None and work.submit_s <= work.start_s <= work.end_s
            assert work.ran_s >= work.duration_s
    held = sum(work.ran_s * work.shape.gpus for work in replay.works.values())
    assert abs(replay.counts.allocated_gpu_s - held) < 1e-6 * max(1.0, held)
    assert sum(work.preemptions for work in replay.works.values()) <= sum(replay.counts.preemptions.values())
