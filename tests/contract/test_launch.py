"""Launching: once for each key, all members or none, and what cannot start is refused."""

import uuid

import pytest

from cluster.engines.contract import EndCause, EnginePhase, LaunchRefused
from tests.contract.conftest import MEMBERS, T0


def test_a_key_that_was_never_launched_is_absent(see):
    assert see(str(uuid.uuid4())).phase is EnginePhase.ABSENT


def test_launching_twice_with_one_key_starts_one_gang(bench, see):
    spec = bench.spec()
    bench.engine.launch(spec)
    bench.pass_time(30)
    bench.engine.launch(spec)

    assert bench.gangs_started(spec.launch_key) == 1
    bench.pass_time(bench.ready_within_s - 30)
    assert see(spec.launch_key).phase is EnginePhase.RUNNING


def test_launching_again_does_not_start_the_work_anew(bench, running, see):
    spec = running(work_s=3600.0)
    before = see(spec.launch_key)

    bench.engine.launch(spec)

    assert see(spec.launch_key) == before


def test_a_key_whose_gang_has_ended_never_starts_again(bench, running, see):
    spec = running(work_s=60.0)
    bench.pass_time(120)
    ended = see(spec.launch_key)
    assert ended.phase is EnginePhase.ENDED

    bench.engine.launch(spec)
    bench.pass_time(300)

    assert see(spec.launch_key) == ended


def test_a_gang_is_ready_when_all_its_members_are(bench, see):
    spec = bench.spec()
    bench.engine.launch(spec)
    starting = see(spec.launch_key)
    assert starting.phase is EnginePhase.STARTING and starting.ready_at is None
    assert set(starting.not_ready) == set(MEMBERS)

    bench.pass_time(bench.ready_within_s)

    ready = see(spec.launch_key)
    assert ready.phase is EnginePhase.RUNNING and ready.not_ready == ()
    assert (ready.ready_at - T0).total_seconds() <= bench.ready_within_s


def test_a_gang_that_never_becomes_ready_names_the_members_it_waits_for(bench, see):
    spec = bench.spec(kind="never_ready")
    bench.engine.launch(spec)
    bench.pass_time(86_400)

    seen = see(spec.launch_key)
    assert seen.phase is EnginePhase.STARTING and seen.ready_at is None
    assert seen.not_ready and set(seen.not_ready) <= set(MEMBERS)
    assert seen.progress_s == 0.0


def test_what_it_can_never_start_it_refuses_and_nothing_has_started(bench, see):
    spec = bench.spec(kind="nonsense")

    with pytest.raises(LaunchRefused, match=r"workload\.work_s is 'two hours'"):
        bench.engine.launch(spec)

    assert bench.gangs_started(spec.launch_key) == 0
    assert see(spec.launch_key).phase is EnginePhase.ABSENT


def test_a_gang_resumes_where_its_last_run_saved(bench, running, see):
    spec = running(work_s=3600.0, resume_from_s=1800.0, restart_cost_s=60.0)
    assert see(spec.launch_key).progress_s >= 1800.0

    bench.pass_time(1800)

    assert see(spec.launch_key).phase is EnginePhase.ENDED  # only the rest was left to do


def test_observations_come_one_for_each_key_in_the_order_asked(bench):
    specs = [bench.spec() for _ in range(3)]
    for spec in specs:
        bench.engine.launch(spec)
    asked = [specs[2].launch_key, str(uuid.uuid4()), specs[0].launch_key]

    assert [seen.launch_key for seen in bench.engine.observe(asked)] == asked


def test_a_completed_gang_says_so_with_exit_code_zero(bench, running, see):
    spec = running(work_s=600.0)
    bench.pass_time(600)

    seen = see(spec.launch_key)
    assert (seen.phase, seen.cause, seen.exit_code) == (EnginePhase.ENDED, EndCause.COMPLETED, 0)
    assert seen.progress_s == 600.0


def test_a_gang_that_fails_by_itself_says_so_with_its_exit_code(bench, running, see):
    spec = running(work_s=600.0, kind="failing")
    bench.pass_time(600)

    seen = see(spec.launch_key)
    assert (seen.phase, seen.cause) == (EnginePhase.ENDED, EndCause.FAILED)
    assert seen.exit_code not in (None, 0)
    assert seen.progress_s == 300.0


def test_an_end_stays_as_it_was_reported(bench, running, see):
    spec = running(work_s=60.0)
    bench.pass_time(100)
    first = see(spec.launch_key)

    bench.pass_time(5000)
    bench.engine.stop(spec.launch_key, grace_s=60)
    bench.lose("n1")

    assert see(spec.launch_key) == first
