"""The arithmetic of a simulated gang's life: work, checkpoints and ends never contradict each other."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.engines.timeline import MOST_CHECKPOINTS, Timeline

seconds = st.floats(0.0, 50_000.0)
lives = settings(max_examples=200, deadline=None)


@st.composite
def timelines(draw) -> Timeline:
    launched_s = draw(seconds)
    signalled_s = launched_s + draw(seconds) if draw(st.booleans()) else None
    return Timeline(
        launched_s=launched_s,
        ready_s=launched_s + draw(st.floats(0.0, 600.0)) if draw(st.integers(0, 5)) else None,
        work_s=draw(st.floats(1.0, 50_000.0)),
        done_s=draw(st.floats(0.0, 10_000.0)),
        interval_s=draw(st.one_of(st.none(), st.floats(60.0, 7200.0))),
        cost_s=draw(st.floats(0.0, 300.0)),
        on_signal=draw(st.booleans()),
        fails_at_s=draw(st.one_of(st.none(), st.floats(0.0, 50_000.0))),
        signalled_s=signalled_s,
        stop_s=None if signalled_s is None else signalled_s + draw(st.floats(0.0, 900.0)),
        lost_s=launched_s + draw(seconds) if draw(st.integers(0, 3)) == 0 else None,
    )


@lives
@given(timelines(), seconds, seconds)
def test_progress_only_grows_and_never_beyond_the_work(life, one, other):
    early, late = sorted((life.launched_s + one, life.launched_s + other))
    assert life.done_s <= life.progress_s(early) <= life.progress_s(late) <= life.done_s + life.work_s


@lives
@given(timelines(), seconds)
def test_what_is_kept_was_worked_and_stays_kept(life, after_s):
    at_s = life.launched_s + after_s
    kept = life.checkpoints(at_s)
    assert kept == sorted(kept)
    assert len(kept) <= MOST_CHECKPOINTS + 1
    assert all(moment <= at_s and moment <= life.end()[0] for moment, _ in kept)
    assert all(work <= life.progress_s(at_s) + 1e-6 for _, work in kept)
    later = life.checkpoints(at_s + 500.0)
    assert not kept or max(work for _, work in later) >= kept[-1][1]


@lives
@given(timelines())
def test_no_more_is_lost_than_one_interval(life):
    end_s, cause = life.end()
    if math.isinf(end_s) or cause == "completed" or life.interval_s is None:
        return
    saved = max((work for _, work in life.checkpoints(end_s)), default=life.done_s)
    assert life.progress_s(end_s) - saved <= life.interval_s + 1e-6


@lives
@given(timelines())
def test_work_and_time_are_each_others_inverse(life):
    if life.ready_s is not None:
        for share in (0.1, 0.5, 1.0):
            worked_s = share * life.work_s
            assert life.worked_s(life.at_work_s(worked_s)) == pytest.approx(worked_s, abs=1e-6)


@lives
@given(timelines())
def test_it_ends_by_the_first_thing_that_ends_it(life):
    end_s, cause = life.end()
    if life.stop_s is not None:
        assert end_s <= max(life.stop_s, life.signalled_s)
    if life.lost_s is not None:
        assert end_s <= life.lost_s
    if cause == "completed":
        assert life.progress_s(end_s) == pytest.approx(life.done_s + life.work_s)
    if life.ready_s is None:
        assert cause in ("", "stopped", "node_lost") and life.progress_s(1e12) == life.done_s


def running(**fields) -> Timeline:
    """Ready at 100; an hour of work with a checkpoint of 60 s after every 600 s of it."""
    return Timeline(0.0, 100.0, work_s=3600.0, interval_s=600.0, cost_s=60.0, **fields)


def test_checkpoints_cost_time_but_none_follows_the_last_stretch():
    assert running().end() == (100.0 + 3600.0 + 5 * 60.0, "completed")
    assert len(running().checkpoints(1e6)) == 5
    assert running().checkpoints(800.0) == [(760.0, 600.0)]


def test_a_gang_that_saves_on_the_signal_leaves_as_soon_as_it_has():
    life = running(signalled_s=1000.0, stop_s=1600.0)
    assert life.end() == (1060.0, "stopped")
    assert life.checkpoints(2000.0)[-1] == (1060.0, life.progress_s(2000.0))


def test_one_that_cannot_save_on_the_signal_works_to_the_end_of_its_window():
    life = running(signalled_s=1000.0, stop_s=1600.0, on_signal=False)
    assert life.end() == (1600.0, "stopped")
    assert life.checkpoints(2000.0)[-1] == (1420.0, 1200.0)


def test_a_window_too_short_for_the_checkpoint_saves_nothing_new():
    life = running(signalled_s=1000.0, stop_s=1030.0)
    assert life.end() == (1030.0, "stopped")
    assert life.checkpoints(2000.0) == [(760.0, 600.0)]


def test_a_gang_that_is_not_ready_leaves_at_once():
    life = Timeline(0.0, None, work_s=3600.0, signalled_s=50.0, stop_s=600.0)
    assert life.end() == (55.0, "stopped") and life.checkpoints(1e6) == []


def test_work_done_in_the_window_may_finish_the_job():
    life = Timeline(0.0, 0.0, work_s=1000.0, on_signal=False, signalled_s=900.0, stop_s=1500.0)
    assert life.end() == (1000.0, "completed")


def test_the_newest_checkpoints_are_told_and_no_more_than_needed():
    life = Timeline(0.0, 0.0, work_s=1e6, interval_s=100.0, cost_s=0.0)
    told = life.checkpoints(50_000.0)
    assert len(told) == MOST_CHECKPOINTS and told[-1] == (50_000.0, 50_000.0)
