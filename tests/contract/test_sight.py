"""What an engine sees: progress, checkpoints, activity, lost nodes; and what it does not see."""

import pytest

from cluster.engines.contract import EndCause, EnginePhase, EngineUnreachable
from tests.contract.conftest import MEMBERS
from tests.contract.unreachable import UnreachableEngine

GPUS = sum(len(gpus) for gpus in MEMBERS.values())


def test_progress_grows_with_the_work_and_counts_from_the_start_of_the_job(bench, running, see):
    spec = running(resume_from_s=500.0, work_s=7200.0)
    early = see(spec.launch_key).progress_s
    bench.pass_time(600)

    assert 500.0 <= early < see(spec.launch_key).progress_s <= early + 600.0


def test_checkpoints_are_durable_oldest_first_and_never_ahead_of_the_work(bench, running, see):
    spec = running(work_s=20_000.0, checkpoint_interval_s=600.0, checkpoint_cost_s=30.0)
    bench.pass_time(5000)

    seen = see(spec.launch_key)
    times = [at for at, _ in seen.checkpoints]
    kept = [progress for _, progress in seen.checkpoints]
    assert len(times) >= 5 and times == sorted(times) and kept == sorted(kept)
    assert times[-1] <= bench.at and kept[-1] <= seen.progress_s


def test_of_a_long_run_the_newest_checkpoint_is_told(bench, running, see):
    spec = running(work_s=700_000.0, checkpoint_interval_s=600.0)
    bench.pass_time(600_000)

    seen = see(spec.launch_key)
    assert seen.progress_s - seen.checkpoints[-1][1] <= 600.0
    assert len(seen.checkpoints) < 100


def test_activity_says_how_many_gpus_compute_and_when_it_was_measured(bench, running, see):
    plain, idle = running(), running(kind="idle")
    bench.pass_time(120)

    busy, lazy = see(plain.launch_key).activity, see(idle.launch_key).activity
    assert (busy.busy_gpus, lazy.busy_gpus) == (GPUS, 0)
    assert busy.at <= bench.at


def test_a_silent_gang_has_no_activity_rather_than_none_busy(bench, running, see):
    spec = running(kind="silent")
    bench.pass_time(300)

    assert see(spec.launch_key).activity is None


def test_activity_is_never_older_than_readiness(bench, see):
    spec = bench.spec()
    bench.engine.launch(spec)
    for _ in range(20):
        bench.pass_time(7)
        seen = see(spec.launch_key)
        assert seen.activity is None or seen.activity.at >= seen.ready_at


@pytest.mark.parametrize("members", ["running", "starting"])
def test_a_lost_node_ends_the_whole_gang(bench, see, members):
    spec = bench.spec()
    bench.engine.launch(spec)
    bench.pass_time(bench.ready_within_s if members == "running" else 5)

    bench.lose("n2")
    lost_at = bench.at
    bench.pass_time(60)

    seen = see(spec.launch_key)
    assert (seen.phase, seen.cause, seen.ended_at) == (EnginePhase.ENDED, EndCause.NODE_LOST, lost_at)


def test_a_gang_launched_onto_a_lost_node_never_runs(bench, see):
    bench.lose("n1", for_s=100_000)
    bench.pass_time(80_000)
    spec = bench.spec()
    bench.engine.launch(spec)
    bench.pass_time(bench.ready_within_s)

    seen = see(spec.launch_key)
    assert (seen.phase, seen.cause, seen.ready_at) == (EnginePhase.ENDED, EndCause.NODE_LOST, None)


def test_a_node_lost_before_the_launch_and_back_in_time_does_no_harm(bench, see):
    bench.lose("n1", for_s=600)
    bench.pass_time(700)
    spec = bench.spec()
    bench.engine.launch(spec)
    bench.pass_time(bench.ready_within_s)

    assert see(spec.launch_key).phase is EnginePhase.RUNNING


def test_a_node_lost_after_the_end_changes_nothing(bench, running, see):
    spec = running(work_s=60.0)
    bench.pass_time(100)
    bench.lose("n1")
    bench.pass_time(100)

    assert see(spec.launch_key).cause is EndCause.COMPLETED


def test_a_node_lost_in_the_grace_window_is_told_as_what_it_is(bench, running, see):
    spec = running(checkpoint_on_signal=False)
    bench.engine.stop(spec.launch_key, grace_s=600)
    bench.pass_time(60)
    bench.lose("n1")
    bench.pass_time(600)

    assert see(spec.launch_key).cause is EndCause.NODE_LOST


def test_nodes_are_reported_alive_lost_and_back_with_the_moment(bench, see_nodes):
    alive, other = see_nodes("n1", "n2")
    assert (alive.alive, other.alive) == (True, True)

    bench.pass_time(100)
    bench.lose("n1", for_s=200_000)
    lost_at = bench.at
    bench.pass_time(180_000)
    lost, other = see_nodes("n1", "n2")
    assert (lost.node, lost.alive, lost.since) == ("n1", False, lost_at)
    assert other.alive

    bench.pass_time(20_001)
    back, _ = see_nodes("n1", "n2")
    assert back.alive and (back.since - lost_at).total_seconds() == 200_000


def test_an_engine_out_of_reach_raises_and_still_tells_the_time(bench):
    engine = UnreachableEngine(bench.engine)
    spec = bench.spec()

    for call in (
        lambda: engine.launch(spec),
        lambda: engine.stop(spec.launch_key, grace_s=1),
        lambda: engine.request_checkpoint(spec.launch_key),
        lambda: engine.observe([spec.launch_key]),
        lambda: engine.observe_nodes(["n1"]),
    ):
        with pytest.raises(EngineUnreachable):
            call()
    assert engine.now() == bench.engine.now()
    assert bench.gangs_started(spec.launch_key) == 0


def test_a_lost_answer_does_not_mean_that_nothing_happened(bench, see):
    spec = bench.spec()
    with pytest.raises(EngineUnreachable):
        UnreachableEngine(bench.engine, loses_answers=True).launch(spec)

    bench.engine.launch(spec)  # asked again, once it answers

    assert bench.gangs_started(spec.launch_key) == 1
