"""The cluster a trace gets when nobody names one, and the files that traces bring along."""

from datetime import datetime
from pathlib import Path

import pytest

from cluster.imports.loader import cluster_from
from cluster.traces import Trace, TraceError, TraceJob, read_trace
from cluster.traces.cluster_files import cluster_from_csv
from cluster.traces.cluster_for import cluster_for
from cluster.traces.load import WEEK_S, busiest_week, weekly_load
from cluster.traces.models_of_jobs import Installed, assign_models
from cluster.traces.naming import slugs
from cluster.traces.openb import OpenbNode
from cluster.traces.shares import shares
from tests.traces.samples import sample
from tests.traces.writing import says, write


def job(tenant="a", gpus=8, submit_s=0.0, duration_s=WEEK_S, **more):
    return TraceJob(job_id="j", tenant=tenant, submit_s=submit_s, gpus=gpus, duration_s=duration_s, **more)


def trace(*jobs, start_at=None):
    return Trace.of("csv", Path("t.csv"), list(jobs), [], start_at=start_at)


def described(derived):
    return cluster_from(derived.data, "derived").description


def test_the_load_of_a_week_is_what_would_run_if_nobody_waited():
    jobs = [job(gpus=10), job(gpus=4, submit_s=WEEK_S / 2)]

    assert weekly_load(jobs) == {0: 12.0, 1: 2.0}
    assert busiest_week(jobs) == (0, 12.0)
    assert busiest_week([]) == (0, 0.0)


def test_the_busiest_week_is_loaded_to_nine_tenths():
    derived = cluster_for(trace(*[job(gpus=8) for _ in range(9)]))

    assert described(derived).installed_gpus() == {"gpu": 80}
    assert says(tuple(derived.notes), "10 × 8 = 80", "week 1 offers 72.0 GPUs", "90% of 80.0")


def test_the_cluster_is_never_smaller_than_its_largest_gang_and_a_quarter():
    derived = cluster_for(trace(job(gpus=128, duration_s=60)))

    assert described(derived).installed_gpus() == {"gpu": 160}
    assert says(tuple(derived.notes), "largest gang of 128 GPUs")


def test_nodes_stand_in_blocks_pods_and_racks():
    description = described(cluster_for(trace(*[job(gpus=8) for _ in range(36)])))

    assert (len(description.nodes), len(description.blocks), len(description.pods)) == (40, 5, 2)
    assert len(description.racks) == 10
    assert sum(node.block == "block-01" for node in description.nodes) == 8


def test_entitlements_follow_the_hours_and_add_up():
    derived = cluster_for(
        trace(*[job("big", 8) for _ in range(8)], job("small", 8), job("tiny", 1, duration_s=60))
    )
    tenants = {tenant.name: tenant.entitlement["gpu"] for tenant in described(derived).tenants}

    assert sum(tenants.values()) == 88
    assert tenants["tiny"] == 1
    assert tenants["big"] > 70


def test_real_nodes_are_used_as_they_are():
    nodes = [OpenbNode("h1", 8, "G2"), OpenbNode("h2", 2, "T4"), OpenbNode("h3", 8, "G2")]
    derived = cluster_for(trace(job(gpus=8), job(gpus=1, gpu_model="T4"), job(gpus=1)), nodes)

    assert described(derived).installed_gpus() == {"G2": 16, "T4": 2}
    assert derived.models == ["G2", "T4", "G2"]
    assert says(tuple(derived.notes), "2 jobs name no GPU model", "assumption")


def test_jobs_that_name_no_model_are_spread_by_what_is_installed():
    installed = {"big": Installed(16, 8), "small": Installed(8, 4)}
    jobs = [job(gpus=4), job(gpus=4), job(gpus=4), job(gpus=8), job(gpus=1, gpu_model="gone")]

    assert assign_models(jobs, installed) == ["big", "small", "big", "big", "gone"]


def test_shares_are_exact_and_respect_the_least():
    assert shares({"a": 1, "b": 1, "c": 1}, 10) == {"a": 4, "b": 3, "c": 3}
    assert shares({"a": 99, "b": 1}, 10, {"b": 4}) == {"a": 6, "b": 4}
    assert shares({"a": 99, "b": 1}, 10, {"a": 8, "b": 4}) == {"a": 10, "b": 0}
    assert shares({"a": 0, "b": 0}, 3) == {"a": 2, "b": 1}
    assert shares({}, 3) == {}


def test_names_become_addresses_without_meeting():
    assert slugs(["vcvGl", "vcVgl", "Team A"]) == {"Team A": "team-a", "vcVgl": "vcvgl", "vcvGl": "vcvgl-2"}


def test_philly_quotas_make_the_cluster(tmp_path):
    path = write(tmp_path / "philly_vc.csv", "vc,node num", "a,2", "b,1")

    derived = cluster_from_csv(path, trace(job("a"), job("c")))

    description = described(derived)
    assert description.installed_gpus() == {"gpu": 24}
    assert {t.name: t.entitlement.get("gpu", 0) for t in description.tenants} == {"a": 16, "b": 8, "c": 0}
    assert says(tuple(derived.notes), "live on loans: c")


def test_helios_quotas_are_those_of_the_first_day(tmp_path):
    rows = ["2020-04-01,8,8,16", "2020-04-05,24,0,24", "2020-04-09,8,8,16"]
    path = write(tmp_path / "quota.csv", "date,vcA,vcB,total", *rows)

    derived = cluster_from_csv(path, trace(job("vcA"), start_at=datetime(2020, 4, 7)))

    assert described(derived).installed_gpus() == {"gpu": 24}
    assert says(tuple(derived.notes), "2020-04-05")


def test_another_file_is_refused_with_what_is_known(tmp_path):
    path = write(tmp_path / "x.csv", "a,b", "1,2")

    with pytest.raises(TraceError, match="vc, node num"):
        cluster_from_csv(path, trace(job()))


@pytest.mark.shared_data
def test_the_public_traces_get_clusters_that_hold_them():
    philly = cluster_for(read_trace(sample("philly/philly_jobs.csv.gz")))
    venus = cluster_for(read_trace(sample("helios/venus_2vc_jobs_2020-09-01_14.csv.gz")))

    assert described(philly).installed_gpus() == {"gpu": 792}
    assert described(venus).installed_gpus() == {"gpu": 192}
    assert cluster_from(philly.data, "derived").warnings == []


@pytest.mark.shared_data
def test_philly_on_its_assumed_nodes():
    philly = read_trace(sample("philly/philly_jobs.csv.gz"))

    derived = cluster_from_csv(sample("philly/philly_vc.csv"), philly)

    assert described(derived).installed_gpus() == {"gpu": 352 * 8}
    assert says(tuple(derived.notes), "23dbec, 51b7ef, 795a4c, 925e2b")
