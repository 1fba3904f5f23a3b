"""openb: pods, fractions of a GPU, pods that never ran, ends that are no ends."""

import pytest

from cluster.traces import TraceError, read_trace
from cluster.traces.openb import OpenbNode, read_nodes
from tests.traces.writing import says, write

PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
    "creation_time,deletion_time,scheduled_time"
)


def pods(tmp_path, *rows):
    return write(tmp_path / "pods.csv", PODS, *rows)


def test_a_fraction_becomes_a_whole_gpu_and_the_notes_say_what_that_adds(tmp_path):
    trace = read_trace(pods(tmp_path, "p0,6000,12288,1,460,,LS,Failed,100,7310,110"))

    job = trace.jobs[0]
    assert (job.gpus, job.submit_s, job.duration_s, job.tier) == (1, 100.0, 7200.0, "production")
    assert says(trace.notes, "Noted 1", "fraction of a GPU", "assumption")
    assert says(trace.notes, "adds 1 GPU-hours")


def test_pods_without_gpus_and_pods_never_placed_are_skipped_and_counted(tmp_path):
    trace = read_trace(
        pods(
            tmp_path,
            "cpu,1000,1000,0,0,,LS,Running,0,50,1",
            "waits,1000,1000,2,1000,,BE,Pending,0,50,",
            "runs,1000,1000,2,1000,,BE,Succeeded,0,50,1",
        )
    )

    assert [(job.job_id, job.tier) for job in trace.jobs] == [("runs", "best_effort")]
    assert says(trace.notes, "Skipped 1", "without GPUs")
    assert says(trace.notes, "Skipped 1", "never placed")


def test_only_running_pods_at_the_last_deletion_are_flagged(tmp_path):
    trace = read_trace(
        pods(
            tmp_path,
            "early,1,1,1,1000,,LS,Running,0,50,1",
            "last,1,1,1,1000,,LS,Running,0,90,1",
            "done,1,1,1,1000,,LS,Succeeded,0,90,1",
        )
    )

    assert {job.job_id: job.censored for job in trace.jobs} == {"early": False, "last": True, "done": False}
    assert says(trace.notes, "Noted 1", "still run at the last deletion")


def test_one_allowed_model_is_asked_for_and_several_are_any(tmp_path):
    trace = read_trace(
        pods(
            tmp_path,
            "one,1,1,1,1000,T4,LS,Running,0,50,1",
            "twice,1,1,1,1000,V100M32|V100M32,LS,Running,0,50,1",
            "many,1,1,1,1000,V100M16|V100M32,LS,Running,0,50,1",
        )
    )

    assert {job.job_id: job.gpu_model for job in trace.jobs} == {
        "one": "T4",
        "twice": "V100M32",
        "many": None,
    }
    assert says(trace.notes, "Noted 1", "several GPU models")


def test_the_node_list_leaves_out_hosts_without_gpus(tmp_path):
    path = write(
        tmp_path / "nodes.csv",
        "sn,cpu_milli,memory_mib,gpu,model",
        "n0,32000,262144,0,",
        "n1,96000,393216,8,G2",
        "n2,96000,393216,2,T4",
    )

    assert read_nodes(path) == [OpenbNode("n1", 8, "G2"), OpenbNode("n2", 2, "T4")]


def test_a_node_with_gpus_needs_a_model(tmp_path):
    path = write(tmp_path / "nodes.csv", "sn,cpu_milli,memory_mib,gpu,model", "n1,96000,393216,8,")

    with pytest.raises(TraceError, match="line 2, column model"):
        read_nodes(path)
