"""The generated workload: repeatable, within what was published, and never more than the cluster can hold."""

from collections import Counter
from datetime import date, timedelta
from statistics import mean, median

import pytest

from cluster.demo import calibration as fit
from cluster.demo.description import demo_description
from cluster.demo.generator import Generator
from cluster.demo.teams import TEAMS
from cluster.imports.document import document_of
from cluster.imports.jobs_checks import JobsContext, check_jobs
from cluster.imports.jobs_schema import JobEntry
from cluster.imports.loader import cluster_from
from cluster.scheduler.fleet import Fleet, NodeView

DAY = date(2026, 3, 2)
GPUS = {"h100": 384, "a100": 128}


@pytest.fixture(scope="module")
def month():
    drawn = Generator(GPUS, seed=1)
    return [job for number in range(30) for job in drawn.day(DAY + timedelta(days=number))]


def demo_fleet():
    nodes = cluster_from(demo_description(), "demo").description.nodes
    return Fleet(NodeView(node.name, node.gpu_model, node.gpus, node.block, node.pod) for node in nodes)


def test_a_day_is_the_same_whenever_it_is_drawn():
    one, other = Generator(GPUS, seed=1), Generator(GPUS, seed=1)
    other.day(DAY + timedelta(days=5))

    assert one.day(DAY) == other.day(DAY)
    assert one.day(DAY) != Generator(GPUS, seed=2).day(DAY)


def test_jobs_come_in_order_within_their_day(month):
    moments = [job.submit_at for job in month]

    assert moments == sorted(moments)
    assert {moment.date() for moment in moments} == {DAY + timedelta(days=number) for number in range(30)}


def test_run_times_and_sizes_lie_within_what_was_published(month):
    work = [job.work_s for job in month]
    gpu_hours = Counter()
    for job in month:
        gpu_hours[job.entry["gpus"] > 8] += job.entry["gpus"] * job.held_s

    assert 206 < median(work) <= 1144  # Helios, Philly
    assert 1260 < mean(work) < 13_136  # Kalos, Philly
    assert 3.7 < mean(job.entry["gpus"] for job in month) < 26.8  # Helios, Kalos
    assert 0.6 < gpu_hours[True] / gpu_hours.total() < 0.9  # the Venus cut has 0.86


def test_the_load_is_what_was_asked_for(month):
    offered = sum(job.entry["gpus"] * job.held_s for job in month) / 3600 / (30 * 24 * sum(GPUS.values()))

    assert offered == pytest.approx(fit.LOAD, rel=0.15)


def test_the_load_scales_with_the_cluster():
    small, large = Generator({"g": 64}, seed=1), Generator({"g": 6400}, seed=1)

    assert large.jobs_per_hour > 20 * small.jobs_per_hour
    assert max(job.entry["gpus"] for job in small.day(DAY)) <= 32


def test_more_is_submitted_in_the_afternoon_than_at_night(month):
    by_hour = Counter(job.submit_at.hour for job in month)

    assert sum(by_hour[h] for h in (14, 15, 16)) > 1.4 * sum(by_hour[h] for h in (2, 3, 4))


def test_every_job_is_labelled_as_generated(month):
    assert all(job.entry["workload"]["generated"] is True for job in month)


def test_every_job_is_a_valid_entry_that_fits_the_demo_cluster(month):
    entries = [JobEntry.model_validate(job.entry) for job in month[:3000]]
    teams = {team.name for team in TEAMS}
    people = {person for team in TEAMS for person in team.people}
    context = JobsContext(demo_fleet(), teams, ["perception", "discovery"], people, {})

    assert check_jobs(document_of({}, "generated"), entries, context) == []


def test_some_jobs_idle_crash_or_send_no_signal(month):
    share = {
        key: sum(key in job.entry["workload"] for job in month) / len(month)
        for key in ("idle_from", "fail_after_s", "silent")
    }

    assert share["idle_from"] == pytest.approx(fit.IDLE_SHARE, abs=0.03)
    assert 0.1 < share["fail_after_s"] < 0.25
    assert share["silent"] == pytest.approx(fit.SILENT_SHARE, abs=0.01)


def test_users_mostly_overestimate(month):
    over = sum(job.entry["expected_duration_s"] >= job.work_s for job in month) / len(month)

    assert 0.7 < over < 1.0


def test_the_demo_description_is_valid_and_promises_what_is_installed():
    loaded = cluster_from(demo_description(), "demo")

    assert loaded.warnings == []
    assert loaded.description.installed_gpus() == GPUS
    teams = [tenant for tenant in loaded.description.tenants if tenant.parent]
    for model, gpus in GPUS.items():
        assert sum(team.entitlement[model] for team in teams) == gpus
