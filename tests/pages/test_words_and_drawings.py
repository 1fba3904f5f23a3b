"""Words for numbers, and drawings as pure figures."""

from datetime import UTC, datetime, timedelta

import pytest

from cluster.charts.bar import meter, segments
from cluster.models import Event, UsageInterval
from cluster.pages import words
from cluster.pages.event_words import JOB_SAYINGS, saying
from cluster.selectors.history import capacity_history
from cluster.selectors.placeable import FreeNode, fits
from cluster.selectors.usage import usage_by_hour, usage_of
from fleet.models import GpuModel

T = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (59, "59 s"),
        (95, "1 min"),
        (3600, "1 h"),
        (8100, "2 h 15 min"),
        (90000, "1 d 1 h"),
        (None, "unknown"),
    ],
)
def test_durations(seconds, text):
    assert words.duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0.0 %"),
        (0.8437, "84.4 %"),
        (0.99999, "99.9 %"),
        (0.0001, "< 0.1 %"),
        (1, "100.0 %"),
        (None, "unknown"),
    ],
)
def test_a_share_never_rounds_to_all_or_nothing(value, text):
    assert words.share(value) == text


def test_money_and_counts_say_unknown_instead_of_zero():
    assert (words.usd(None), words.count(None), words.hours(None)) == ("unknown",) * 3
    assert (words.usd(1234.5), words.usd(3.5), words.usd(0)) == ("$1,234", "$3.50", "$0")


def test_segments_follow_one_another_and_sum_to_the_whole():
    found = segments({"busy": 3, "idle": 0, "free": 1})
    assert [(s.x, s.width) for s in found] == [(0, 75), (75, 0), (75, 25)]
    assert segments({"busy": 0})[0].width == 0


def test_a_meter_grows_with_what_goes_over_its_scale():
    drawn = meter({"own": 32, "loan": 32}, scale=32, mark=32)
    assert [p.width for p in drawn.parts] == [50, 50] and drawn.mark == 50


def test_gangs_that_fit_are_counted_by_whole_nodes_and_by_block():
    def node(name, block, free):
        return FreeNode(name, "H100", block, "p", 8, free)

    nodes = [node("a", "b1", 8), node("b", "b1", 8), node("c", "b2", 8), node("d", "b2", 7)]
    eight, sixteen, four = fits(nodes, (8, 16, 4))
    assert (eight.anywhere, eight.in_one_block) == (3, 3)
    assert (sixteen.anywhere, sixteen.in_one_block) == (1, 1)
    assert four.anywhere == 7  # a node with 7 free has room for one


def test_every_event_of_a_job_has_a_sentence_even_without_its_data():
    for kind in JOB_SAYINGS:
        for data in ({}, {"by": "lars", "reason": "because", "run": 2}):
            assert saying(Event(kind=kind, data=data), seen=True)
            assert "because" not in saying(Event(kind=kind, data=data), seen=False)
    assert saying(Event(kind="job.new_kind", data={})) == "job new kind"


def used(state, gpus, start_h, end_h=None):
    model, _ = GpuModel.objects.get_or_create(name="H100")
    end = None if end_h is None else T + timedelta(hours=end_h)
    return UsageInterval.objects.create(state=state, gpu_model=model, gpus=gpus, usd_per_gpu_hour=2,
                                        started_at=T + timedelta(hours=start_h), ended_at=end)  # fmt: skip


@pytest.mark.django_db
def test_history_sums_to_the_installed_at_every_step():
    used("busy", 48, 0, 1.37), used("placeable", 16, 0, 1.37), used("busy", 64, 1.37)
    past = capacity_history(T + timedelta(hours=3), hours=6, steps=17)
    for i in range(17):
        assert sum(past.gpus[state][i] for state in past.gpus) == pytest.approx(64)
    mean = sum(past.gpus["placeable"]) / 17
    assert mean == pytest.approx(16 * 1.37 / 3)


@pytest.mark.django_db
def test_usage_sums_to_installed_times_the_window_from_cache_too():
    used("busy", 48, 0, 1.5), used("stranded", 16, 0, 1.5), used("busy", 64, 1.5)
    end = T + timedelta(hours=4, minutes=20)
    for _ in range(2):  # the second time the settled hours come out of the cache
        hours = usage_by_hour(T, end)
        assert [round(h.hours_of(), 6) for h in hours] == [64, 64, 64, 64, round(64 / 3, 6)]
        whole = usage_of(T, end)
        assert whole.wasted_gpu_hours == pytest.approx(24) and whole.wasted_usd == pytest.approx(48)
