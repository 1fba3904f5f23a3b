"""Helios as published, the recoded Venus cut, and Acme's two logs."""

from datetime import datetime

import pytest

from cluster.traces import TraceError, read_trace
from tests.traces.writing import says, write

LOG = "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue"
SEREN = (
    "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_time"
)
KALOS = (
    "job_id,user,node_num,gpu_num,cpu_num,mem_per_pod_GB,shared_mem_per_pod,type,state,submit_time,start_time,"
    "end_time,fail_time,stop_time,duration,queue,gpu_time"
)
CUT = (
    "job_id,user,tenant,class,submit_time,num_chips,chip_type,num_nodes,"
    "duration_s,walltime_limit_s,final_status"
)


def test_the_published_columns_of_helios_are_read(tmp_path):
    june = "2020-06-09"
    path = write(
        tmp_path / "cluster_log.csv",
        LOG,
        f"1425511,uXBbc,vcJkd,1,1,1,COMPLETED,{june} 18:41:01,{june} 18:41:01,2020-06-10 04:55:09,36848,0",
        f"1425512,uVMrF,vchbv,16,64,2,FAILED,{june} 18:41:27,{june} 18:45:27,{june} 18:45:36,9,240",
        f"1425514,uVMrF,vchbv,0,16,1,COMPLETED,{june} 18:50:27,{june} 18:50:27,{june} 18:50:36,9,0",
    )

    trace = read_trace(path)

    first, second = trace.jobs
    assert (first.tenant, first.user, first.gpus, first.duration_s) == ("vcJkd", "uXBbc", 1, 36_848.0)
    assert (second.gpus, second.nodes, second.gpus_per_node, second.status) == (16, 2, 8, "FAILED")
    assert second.submit_s == 26.0
    assert trace.start_at == datetime(2020, 6, 9, 18, 41, 1)
    assert says(trace.notes, "Skipped 1", "no GPUs asked for", "line 4")


def test_without_a_start_the_column_duration_is_used_and_said(tmp_path):
    row = "1,u,vc,4,8,1,CANCELLED,2020-06-09 18:41:27,,2020-06-09 18:45:36,17,0"
    lost = "2,u,vc,4,8,1,CANCELLED,2020-06-09 18:41:27,None,None,,0"
    backwards = "3,u,vc,4,8,1,FAILED,2020-06-09 18:41:27,2020-06-09 18:45:36,2020-06-09 18:45:30,0,0"

    trace = read_trace(write(tmp_path / "cluster_log.csv", LOG, row, lost, backwards))

    assert [job.duration_s for job in trace.jobs] == [17.0]
    assert says(trace.notes, "the column duration is the run time", "1")
    assert says(trace.notes, "Skipped 1", "neither start and end nor a duration")
    assert says(trace.notes, "Skipped 1", "ends before it starts")


def test_gpus_that_do_not_divide_over_the_nodes_leave_the_spread_open(tmp_path):
    row = "1,u,vc,12,8,5,COMPLETED,2020-06-09 18:41:27,2020-06-09 18:45:36,2020-06-09 18:45:46,10,0"

    trace = read_trace(write(tmp_path / "cluster_log.csv", LOG, row))

    assert (trace.jobs[0].gpus, trace.jobs[0].nodes, trace.jobs[0].gpus_per_node) == (12, None, None)
    assert says(trace.notes, "do not divide evenly")


def test_an_unknown_state_names_the_allowed_ones(tmp_path):
    row = "1,u,vc,4,8,1,DONE,2020-06-09 18:41:27,2020-06-09 18:45:36,2020-06-09 18:45:46,10,0"

    with pytest.raises(TraceError, match=r"line 2, column state: 'DONE' .*COMPLETED"):
        read_trace(write(tmp_path / "cluster_log.csv", LOG, row))


def test_seren_carries_its_zone(tmp_path):
    times = "2023-03-01 00:18:22+08:00,2023-03-01 00:18:54+08:00,2023-03-01 00:20:51+08:00"

    trace = read_trace(
        write(tmp_path / "trace_seren.csv", SEREN, f"5778432,u5907,1,8,128,SFT,FAILED,{times},117,32,936.0")
    )

    assert trace.jobs[0].duration_s == 117.0
    assert (trace.jobs[0].tenant, trace.jobs[0].kind) == ("acme", "fine_tuning")
    assert trace.start_at is not None and trace.start_at.utcoffset().total_seconds() == 8 * 3600
    assert says(trace.notes, "zone +0800")
    assert not says(trace.notes, "the column duration is")


def test_kalos_publishes_another_duration_and_the_reader_says_so(tmp_path):
    # The two example rows of the trace's README: 18 s and 82 s are end - submit, the runs took 8 s and 70 s.
    rows = [
        "dlctk696s0jbvitv,uf794,8,64,960,1000,100.0,Other,FAILED,2023-05-17 11:00:58+00:00,"
        "2023-05-17 11:01:08+00:00,2023-05-17 11:01:16+00:00,2023-05-17 11:01:16+00:00,,18,10.0,1152.0",
        "dlc1t2ypl09b8qtp,uf794,8,64,960,1000,100.0,Other,CANCELLED,2023-05-17 11:28:42+00:00,"
        "2023-05-17 11:28:54+00:00,2023-05-17 11:30:04+00:00,,2023-05-17 11:30:04+00:00,82,12.0,5248.0",
    ]

    trace = read_trace(write(tmp_path / "trace_kalos.csv", KALOS, *rows))

    assert [job.duration_s for job in trace.jobs] == [8.0, 70.0]
    assert says(trace.notes, "Noted 2", "duration is end - submit", "end - start was used")


def test_times_with_and_without_a_zone_are_not_mixed(tmp_path):
    with_zone = "2023-03-01 00:18:22+08:00,2023-03-01 00:18:54+08:00,2023-03-01 00:20:51+08:00"
    without = "2023-03-01 00:18:22,2023-03-01 00:18:54,2023-03-01 00:20:51"
    rows = [f"{n},u,1,8,128,SFT,FAILED,{times},117,32,936.0" for n, times in enumerate((with_zone, without))]

    with pytest.raises(TraceError, match="line 3, column submit_time"):
        read_trace(write(tmp_path / "trace_seren.csv", SEREN, *rows))


def test_the_recoded_cut_counts_microseconds_and_ignores_what_was_made_up(tmp_path):
    rows = [
        "765563,uH3om,vcvGl,finetune,5835000000,128,,16,24.0,24.0,CANCELED",
        "765565,uJjMX,vcvGl,finetune,5842000000,3,,1,1209600,1209600,COMPLETED",
    ]

    trace = read_trace(write(tmp_path / "venus.csv", CUT, *rows))

    first, second = trace.jobs
    assert (first.submit_s, first.gpus, first.nodes, first.gpus_per_node) == (5835.0, 128, 16, 8)
    assert (first.status, first.kind, second.censored) == ("CANCELLED", None, True)
    assert trace.start_at == datetime(2020, 9, 1)
    assert says(trace.notes, "class and walltime_limit_s", "not used")
    assert says(trace.notes, "lower bound")
