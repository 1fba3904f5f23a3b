"""The Philly reduction and the original log."""

import json
from datetime import datetime

import pytest

from cluster.traces import TraceError, read_trace
from tests.traces.writing import says, write

HEADER = "timestamp,duration,num_gpus,gpu_time,cluster"


def test_jobs_come_in_order_of_submission_and_count_from_the_first(tmp_path):
    path = write(
        tmp_path / "philly.csv.gz",
        HEADER,
        "2017-10-09 07:01:55,66.0,1,66.0,11cb48",
        "2017-10-09 06:13:03,100.0,8,800.0,6214e9",
    )

    trace = read_trace(path)

    assert [(job.tenant, job.gpus, job.submit_s) for job in trace.jobs] == [
        ("6214e9", 8, 0.0),
        ("11cb48", 1, 2932.0),
    ]
    assert trace.start_at == datetime(2017, 10, 9, 6, 13, 3)
    assert says(trace.notes, "not in order of submission", "1 steps")
    assert says(trace.notes, "no zone")


def test_equal_rows_are_kept_and_counted(tmp_path):
    row = "2017-10-09 07:01:55,66.0,1,66.0,11cb48"

    trace = read_trace(write(tmp_path / "philly.csv", HEADER, row, row, row))

    assert len(trace.jobs) == 3
    assert len({job.job_id for job in trace.jobs}) == 3
    assert says(trace.notes, "2 rows are exact copies")


def test_the_hour_that_occurs_twice_is_said(tmp_path):
    rows = ["2017-11-04 12:00:00,5,1,5,a", "2017-11-05 01:30:00,5,1,5,a", "2017-11-06 00:00:00,5,1,5,a"]

    trace = read_trace(write(tmp_path / "philly.csv", HEADER, *rows))

    assert says(trace.notes, "2017-11-05", "twice", "1 jobs")


def test_a_gpu_time_that_does_not_follow_is_counted_and_the_duration_used(tmp_path):
    trace = read_trace(write(tmp_path / "philly.csv", HEADER, "2017-10-09 07:01:55,66.0,2,66.0,11cb48"))

    assert trace.jobs[0].duration_s == 66.0
    assert says(trace.notes, "gpu_time is not duration x num_gpus", "line 2")


@pytest.mark.parametrize(
    ("row", "column", "allowed"),
    [
        ("2017-10-09 07:01:55,66.0,1.5,66.0,vc", "num_gpus", "whole number, 1 or more"),
        ("2017-10-09 07:01:55,66.0,0,66.0,vc", "num_gpus", "whole number, 1 or more"),
        ("2017-10-09 07:01:55,-1,1,66.0,vc", "duration", "seconds, 0 or more"),
        ("2017-10-09 07:01:55,inf,1,66.0,vc", "duration", "seconds, 0 or more"),
        ("yesterday,66.0,1,66.0,vc", "timestamp", "2017-10-09 07:01:55"),
        ("2017-10-09 07:01:55,66.0,1,66.0,", "cluster", "a name"),
    ],
)
def test_a_bad_value_is_named_with_its_place(tmp_path, row, column, allowed):
    path = write(tmp_path / "philly.csv", HEADER, "2017-10-09 07:01:55,66.0,1,66.0,vc", row)

    with pytest.raises(TraceError) as raised:
        read_trace(path)

    assert raised.value.line == 3
    assert raised.value.column == column
    assert allowed in str(raised.value)
    assert "philly.csv" in str(raised.value)


def attempt(start, end, gpus, ip="m1"):
    return {
        "start_time": start,
        "end_time": end,
        "detail": [{"ip": ip, "gpus": [f"gpu{i}" for i in range(gpus)]}],
    }


def entry(job_id, attempts, status="Pass", submitted="2017-10-07 01:11:39"):
    return {
        "status": status,
        "vc": "ee9e8c",
        "jobid": job_id,
        "attempts": attempts,
        "submitted_time": submitted,
        "user": "ce2f4c",
    }


def log(tmp_path, *entries, name="cluster_job_log.json"):
    return write(tmp_path / name, json.dumps(list(entries)))


def test_the_run_time_of_the_original_is_the_sum_over_attempts(tmp_path):
    # The example of the trace's own README: attempts of 74 s and 193,182 s on 8 GPUs.
    example = entry(
        "application_1506638472019_14199",
        [
            attempt("2017-10-07 01:12:09", "2017-10-07 01:13:23", 8, "m47"),
            attempt("2017-10-07 01:13:30", "2017-10-09 06:53:12", 8, "m412"),
        ],
    )

    trace = read_trace(log(tmp_path, example, name="cluster_job_log.json.gz"), "philly")

    job = trace.jobs[0]
    assert (job.duration_s, job.gpus, job.tenant, job.user) == (193_256.0, 8, "ee9e8c", "ce2f4c")
    assert job.status == "COMPLETED"


def test_jobs_without_attempts_or_times_are_skipped_and_counted(tmp_path):
    path = log(
        tmp_path,
        entry("never", [], status="Killed"),
        entry("untimed", [attempt(None, None, 4)]),
        entry("cpu", [attempt("2017-10-07 02:00:00", "2017-10-07 03:00:00", 0)]),
        entry("good", [attempt("2017-10-07 02:00:00", "2017-10-07 03:00:00", 4)]),
    )

    trace = read_trace(path)

    assert [job.job_id for job in trace.jobs] == ["good"]
    assert says(trace.notes, "Skipped 1", "no attempt is recorded")
    assert says(trace.notes, "Skipped 1", "no attempt has both")
    assert says(trace.notes, "Skipped 1", "no GPUs in any attempt")


def test_a_job_still_running_is_flagged_and_runs_to_the_end_of_the_record(tmp_path):
    running = entry("runs", [attempt("2017-10-07 02:00:00", "None", 2)])
    other = entry("other", [attempt("2017-10-07 02:00:00", "2017-10-07 05:00:00", 1)])

    trace = read_trace(log(tmp_path, running, other))

    runs = next(job for job in trace.jobs if job.job_id == "runs")
    assert (runs.censored, runs.duration_s) == (True, 3 * 3600.0)
    assert says(trace.notes, "still running", "lower bound")


def test_the_largest_attempt_gives_the_gpus(tmp_path):
    attempts = [
        attempt("2017-10-07 02:00:00", "2017-10-07 02:10:00", 2),
        attempt("2017-10-07 03:00:00", "2017-10-07 03:10:00", 4),
        attempt(None, "2017-10-07 04:00:00", 4),
    ]

    trace = read_trace(log(tmp_path, entry("j", attempts)))

    assert (trace.jobs[0].gpus, trace.jobs[0].duration_s) == (4, 1200.0)
    assert says(trace.notes, "attempts differ in GPUs")
    assert says(trace.notes, "lacks its start or end")


@pytest.mark.parametrize(
    ("spoil", "place"),
    [
        (lambda e: e.update(status="Done"), "[0].status"),
        (lambda e: e.update(submitted_time="noon"), "[0].submitted_time"),
        (lambda e: e.update(attempts="none"), "[0].attempts"),
        (lambda e: e["attempts"][0].update(start_time="noon"), "[0].attempts[0].start_time"),
        (lambda e: e["attempts"][0]["detail"][0].update(gpus=3), "[0].attempts[0].detail[0].gpus"),
        (lambda e: e.pop("vc"), "[0].vc"),
    ],
)
def test_a_bad_value_of_the_log_is_named_with_its_path(tmp_path, spoil, place):
    job = entry("j", [attempt("2017-10-07 02:00:00", "2017-10-07 02:10:00", 2)])
    spoil(job)

    with pytest.raises(TraceError) as raised:
        read_trace(log(tmp_path, job))

    assert raised.value.column == place


def test_broken_json_is_refused_with_its_line(tmp_path):
    path = write(tmp_path / "cluster_job_log.json", "[", '{"status": }', "]")

    with pytest.raises(TraceError, match="line 2"):
        read_trace(path)
