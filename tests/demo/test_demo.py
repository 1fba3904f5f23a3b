"""Seeding: an empty database becomes a living demonstration, once; arrivals are submitted in their time."""

from datetime import UTC, datetime, timedelta

import pytest

from cluster.demo import calibration as fit
from cluster.demo.arrivals import add_arrivals, draw_ahead, submit_due, under_way
from cluster.demo.generator import GeneratedJob
from cluster.demo.history import EVERY
from cluster.demo.seed import demo_notes, ensure_demo, sign_ins
from cluster.engines.simulated import pin_clock
from cluster.models import Arrival, Job, SimulatedClock, Tick, UsageInterval
from fleet.models import Gpu, Node
from tenancy.models import User
from tests.traces.writing import write

pytestmark = pytest.mark.django_db


@pytest.fixture
def short_history(monkeypatch):
    """A few ticks instead of hours, and a tenth of the jobs."""
    monkeypatch.setattr(fit, "LOAD", 0.15)
    monkeypatch.setattr("cluster.demo.generated_demo.HOURS", 2 * EVERY)
    monkeypatch.setattr("cluster.demo.trace_demo.HOURS", 2 * EVERY)


@pytest.fixture
def demo(short_history):
    ensure_demo()


def test_an_empty_database_becomes_a_running_cluster(demo, client):
    assert (Node.objects.count(), Gpu.objects.count()) == (64, 512)
    assert Tick.objects.count() == 3
    assert Job.objects.filter(state="active").exists()
    open_rows = UsageInterval.objects.filter(ended_at=None).values_list("gpus", flat=True)
    assert sum(open_rows) == 512
    assert SimulatedClock.objects.get().speed == 60
    assert Arrival.objects.filter(submitted=False).exists()
    assert any("generated" in note for note in demo_notes())


def test_the_sign_ins_work_and_the_others_have_no_password(demo, client):
    names = [name for name, _, _ in sign_ins()]

    assert names == ["owner", "admin-vision", "release", "researcher", "viewer"]
    for name, password, _ in sign_ins():
        assert client.login(username=name, password=password)
    assert not User.objects.get(username="ines").has_usable_password()


def test_seeding_twice_changes_nothing_but_the_speed(demo):
    jobs, ticks = Job.objects.count(), Tick.objects.count()

    ensure_demo()
    ensure_demo(speed=10)

    assert (Job.objects.count(), Tick.objects.count()) == (jobs, ticks)
    assert SimulatedClock.objects.get().speed == 10


def test_a_real_cluster_gets_no_demo(db):
    assert sign_ins() == []
    assert demo_notes() == []


def test_an_arrival_is_submitted_once_and_only_when_due(demo):
    now = Arrival.objects.filter(submitted=False).earliest("submit_at").submit_at
    pin_clock(now)
    before = Job.objects.count()
    due = Arrival.objects.filter(submitted=False, submit_at__lte=now).count()

    assert submit_due(now) == due > 0
    assert submit_due(now) == 0
    assert Job.objects.count() == before + due


def test_an_arrival_that_is_refused_does_not_stop_the_others(demo, caplog):
    Arrival.objects.all().delete()
    now = datetime.now(UTC) + timedelta(hours=1)
    pin_clock(now)
    good = {"name": "g", "tenant": "vision", "owner": "bo", "gpus": 1, "expected_duration_s": 60}
    entries = [good | {"tenant": "speech"}, good | {"owner": "nobody"}, good | {"gpus": 4096}, good]
    add_arrivals((n + 1, GeneratedJob(now, entry)) for n, entry in enumerate(entries))
    before = Job.objects.count()

    submit_due(now)

    assert Job.objects.count() == before + 1
    assert len([r for r in caplog.records if "arrival" in r.message]) == 3


def test_the_next_day_is_drawn_before_it_is_needed_and_only_once(demo):
    last = Arrival.objects.latest("submit_at").submit_at
    draw_ahead(last - timedelta(hours=13))
    assert Arrival.objects.latest("submit_at").submit_at == last

    draw_ahead(last - timedelta(hours=11))
    count = Arrival.objects.count()
    draw_ahead(last - timedelta(hours=11))

    assert Arrival.objects.latest("submit_at").submit_at.date() == last.date() + timedelta(days=1)
    assert Arrival.objects.count() == count


def test_generated_users_hold_back_while_much_is_waiting(demo):
    now = Arrival.objects.filter(submitted=False).earliest("submit_at").submit_at
    pin_clock(now)
    job = Job.objects.filter(state="active").first()
    job.pk, job.state, job.gpus, job.nodes, job.gpus_per_node = None, "pending", 384, None, None
    for _ in range(3):
        job.pk = None
        job.save()
    before = Job.objects.count()

    submit_due(now)

    assert Job.objects.count() == before
    assert not Arrival.objects.filter(submitted=False, submit_at__lte=now).exists()


def test_jobs_under_way_ask_for_what_is_left_of_them():
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    entry = {"name": "j", "expected_duration_s": 7200, "workload": {"work_s": 3600, "fail_after_s": 3000}}

    def begun(minutes):
        return (at - timedelta(minutes=minutes), 3000.0, entry)

    left = under_way([begun(30), begun(60), begun(-5)], at)

    assert [job["workload"] for job in left] == [{"work_s": 1800, "fail_after_s": 1200}]
    assert left[0]["expected_duration_s"] == 5400


def test_a_trace_becomes_the_demo_with_its_own_clock_and_tenants(short_history, tmp_path):
    header = "submitted_at,tenant,gpus,duration_s,user,name"
    rows = [f"2026-03-01 08:0{n}:00,Team A,8,600,ann,j{n}" for n in range(6)]
    path = write(tmp_path / "jobs.csv", header, *rows, "2026-03-01 09:00:00,b,16,60,,later")

    ensure_demo(trace=str(path), speed=120)

    assert [name for name, _, _ in sign_ins()] == ["owner", "admin-team-a", "release", "researcher", "viewer"]
    assert Job.objects.earliest("submitted_at").submitted_at.isoformat().startswith("2026-03-01T08:00:00")
    assert set(Job.objects.values_list("tenant__name", "owner__username")) == {("team-a", "ann")}
    later = Arrival.objects.get(submitted=False)
    assert later.spec["owner"] == "jobs-of-b"
    assert SimulatedClock.objects.get().speed == 120
    assert any("cluster is derived" in note for note in demo_notes())
    draw_ahead(later.submit_at)
    assert Arrival.objects.filter(submitted=False).count() == 1
