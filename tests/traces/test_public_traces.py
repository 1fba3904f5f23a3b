"""The readers against the published files: counts, GPU-hours and sizes as their READMEs state them."""

from collections import Counter

import pytest

from cluster.traces import detect_format, read_trace
from cluster.traces.openb import read_nodes
from tests.traces.samples import sample
from tests.traces.writing import says

pytestmark = pytest.mark.shared_data


def test_philly():
    path = sample("philly/philly_jobs.csv.gz")
    assert detect_format(path) == "philly"

    trace = read_trace(path)

    assert len(trace.jobs) == 82_247
    assert round(trace.gpu_hours) == 978_078
    assert len(trace.tenants) == 15
    assert str(trace.start_at) == "2017-09-04 10:30:41"
    assert max(job.duration_s for job in trace.jobs) == 4_628_226
    sizes = Counter(job.gpus for job in trace.jobs)
    assert sizes == {
        128: 3, 64: 6, 32: 67, 24: 7, 16: 199, 12: 7, 8: 1643, 4: 1870, 2: 1818, 1: 76_627,
    }  # fmt: skip
    assert says(trace.notes, "not in order of submission")
    assert says(trace.notes, "65 rows are exact copies")
    assert says(trace.notes, "2017-11-05", "occurs twice")


def test_philly_hours_by_tenant():
    trace = read_trace(sample("philly/philly_jobs.csv.gz"))
    hours = Counter()
    for job in trace.jobs:
        hours[job.tenant] += job.gpu_hours

    assert round(hours["ee9e8c"]) == 256_112
    assert round(hours["6214e9"]) == 97_185
    assert round(hours["925e2b"]) == 3


def test_helios_venus():
    path = sample("helios/venus_2vc_jobs_2020-09-01_14.csv.gz")
    assert detect_format(path) == "helios"

    trace = read_trace(path)

    assert len(trace.jobs) == 1014
    assert round(trace.gpu_hours) == 56_672
    assert (trace.jobs[0].submit_s, trace.last_submit_s) == (5835.0, 1_207_810.0)
    assert Counter(job.tenant for job in trace.jobs) == {"vcvGl": 931, "vcvlY": 83}
    assert len({job.user for job in trace.jobs}) == 6
    assert Counter(job.gpus for job in trace.jobs)[128] == 369
    assert sum(job.gpus >= 64 for job in trace.jobs) == 478
    assert Counter(job.status for job in trace.jobs) == {
        "FAILED": 367, "COMPLETED": 362, "CANCELLED": 284, "NODE_FAIL": 1,
    }  # fmt: skip


@pytest.mark.parametrize("name", ["openb_pod_list_default.csv.gz", "openb_pod_list_gpuspec33.csv.gz"])
def test_openb_pods(name):
    path = sample(f"alibaba-openb-2023/{name}")
    assert detect_format(path) == "openb"

    trace = read_trace(path)

    # 7,064 pods ask for GPUs; 861 of them are among the 897 that were never placed.
    assert len(trace.jobs) == 7064 - 861
    assert says(trace.notes, "Read 8,152 pods")
    assert says(trace.notes, "Skipped 1,088", "without GPUs")
    assert says(trace.notes, "Skipped 861", "never placed")
    # 34 pods end at the last deletion, 32 of them with GPUs.
    assert sum(job.censored for job in trace.jobs) == 32
    # 51,470.7 GPU-hours with fractions counted, and what rounding up adds.
    assert says(trace.notes, "adds 8,142 GPU-hours")
    assert round(trace.gpu_hours) == 59_612


def test_openb_nodes():
    nodes = read_nodes(sample("alibaba-openb-2023/openb_node_list_all_node.csv.gz"))

    assert len(nodes) == 1213
    assert sum(node.gpus for node in nodes) == 6212
    assert Counter(node.gpus for node in nodes) == {8: 617, 4: 54, 2: 518, 1: 24}
