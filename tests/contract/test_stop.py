"""Stopping: signal, grace window, end; early, late, twice, and before there was anything to stop."""

from datetime import timedelta

from cluster.engines.contract import EndCause, EnginePhase


def test_after_the_signal_it_saves_and_leaves_before_the_window_ends(bench, running, see):
    spec = running(checkpoint_cost_s=60.0)
    bench.pass_time(1000)
    progress_s = see(spec.launch_key).progress_s

    bench.engine.request_checkpoint(spec.launch_key)
    bench.engine.stop(spec.launch_key, grace_s=300)
    bench.pass_time(30)
    assert see(spec.launch_key).phase is EnginePhase.STOPPING
    bench.pass_time(30)

    seen = see(spec.launch_key)
    assert (seen.phase, seen.cause) == (EnginePhase.ENDED, EndCause.STOPPED)
    assert seen.ended_at == bench.at
    assert seen.checkpoints[-1] == (bench.at, progress_s)
    assert seen.progress_s == progress_s, "a gang that writes its checkpoint does no further work"


def test_what_does_not_save_on_a_signal_runs_to_the_end_of_its_window(bench, running, see):
    spec = running(checkpoint_on_signal=False)
    stopped_at = bench.at

    bench.engine.stop(spec.launch_key, grace_s=300)
    bench.pass_time(299)
    assert see(spec.launch_key).phase is EnginePhase.STOPPING
    bench.pass_time(60)

    seen = see(spec.launch_key)
    assert seen.ended_at == stopped_at + timedelta(seconds=300)
    assert seen.checkpoints == []


def test_a_checkpoint_that_takes_longer_than_the_window_is_not_durable(bench, running, see):
    spec = running(checkpoint_cost_s=400.0, checkpoint_interval_s=600.0)
    bench.pass_time(1100)  # one checkpoint of its own
    own = see(spec.launch_key).checkpoints
    assert len(own) == 1

    bench.engine.stop(spec.launch_key, grace_s=120)
    bench.pass_time(500)

    seen = see(spec.launch_key)
    assert seen.phase is EnginePhase.ENDED and list(seen.checkpoints) == list(own)


def test_a_checkpoint_request_alone_ends_nothing(bench, running, see):
    spec = running(checkpoint_cost_s=60.0)
    bench.engine.request_checkpoint(spec.launch_key)
    bench.pass_time(1000)

    assert see(spec.launch_key).phase is not EnginePhase.ENDED


def test_the_window_begins_with_the_stop_however_old_the_signal(bench, running, see):
    spec = running(checkpoint_cost_s=60.0)
    bench.engine.request_checkpoint(spec.launch_key)
    bench.pass_time(600)  # a crash between signal and stop
    bench.engine.stop(spec.launch_key, grace_s=300)
    stopped_at = bench.at
    assert see(spec.launch_key).phase is EnginePhase.STOPPING

    bench.pass_time(300)

    assert see(spec.launch_key).ended_at >= stopped_at


def test_stopping_twice_is_fine_and_the_first_window_counts(bench, running, see):
    spec = running(checkpoint_on_signal=False)
    bench.engine.stop(spec.launch_key, grace_s=100)
    first_end = bench.at + timedelta(seconds=100)
    bench.pass_time(50)
    bench.engine.stop(spec.launch_key, grace_s=1000)
    bench.pass_time(60)
    bench.engine.stop(spec.launch_key, grace_s=1000)

    assert see(spec.launch_key).ended_at == first_end


def test_stop_before_launch_means_that_the_key_never_starts(bench, see):
    spec = bench.spec()
    bench.engine.request_checkpoint(spec.launch_key)
    bench.engine.stop(spec.launch_key, grace_s=120)
    seen = see(spec.launch_key)
    assert (seen.phase, seen.cause) == (EnginePhase.ENDED, EndCause.STOPPED)

    bench.engine.launch(spec)  # arrives late
    bench.pass_time(600)

    assert bench.gangs_started(spec.launch_key) == 0
    assert see(spec.launch_key).phase is EnginePhase.ENDED


def test_a_late_launch_after_the_stop_starts_nothing(bench, running, see):
    spec = running()
    bench.engine.stop(spec.launch_key, grace_s=0)
    ended = see(spec.launch_key)
    assert ended.phase is EnginePhase.ENDED

    bench.engine.launch(spec)
    bench.pass_time(600)

    assert see(spec.launch_key) == ended


def test_a_gang_that_is_still_starting_leaves_at_once(bench, see):
    spec = bench.spec(kind="never_ready")
    bench.engine.launch(spec)
    bench.pass_time(600)
    bench.engine.stop(spec.launch_key, grace_s=300)
    stopped_at = bench.at
    bench.pass_time(300)

    seen = see(spec.launch_key)
    assert (seen.phase, seen.cause) == (EnginePhase.ENDED, EndCause.STOPPED)
    assert seen.ended_at < stopped_at + timedelta(seconds=300)
    assert seen.ready_at is None


def test_what_completes_during_its_window_has_completed(bench, running, see):
    spec = running(work_s=600.0, checkpoint_on_signal=False)
    bench.pass_time(530)
    bench.engine.stop(spec.launch_key, grace_s=3600)
    bench.pass_time(600)

    seen = see(spec.launch_key)
    assert (seen.cause, seen.exit_code, seen.progress_s) == (EndCause.COMPLETED, 0, 600.0)


def test_stopping_an_unknown_or_ended_key_raises_nothing(bench, running, see):
    spec = running(work_s=30.0)
    bench.pass_time(100)
    bench.engine.stop(spec.launch_key, grace_s=10)
    bench.engine.request_checkpoint(spec.launch_key)

    assert see(spec.launch_key).cause is EndCause.COMPLETED
