"""Our own format, and finding out which format a file has."""

from datetime import UTC, datetime

import pytest

from cluster.traces import TraceError, detect_format, read_trace
from tests.traces.writing import write


def test_the_shortest_file_that_can_be_replayed(tmp_path):
    path = write(
        tmp_path / "jobs.csv", "submit_time,tenant,gpus,duration_s", "60,vision,8,3600", "30,speech,16,60"
    )

    trace = read_trace(path)

    assert [(job.tenant, job.submit_s, job.gpus, job.duration_s) for job in trace.jobs] == [
        ("speech", 30.0, 16, 60.0),
        ("vision", 60.0, 8, 3600.0),
    ]
    assert trace.start_at is None


def test_all_optional_columns(tmp_path):
    path = write(
        tmp_path / "jobs.csv",
        "submitted_at,tenant,gpus,duration_s,tier,kind,user,gpu_model,nodes,name",
        "2026-03-01T08:00:30Z,vision,16,60,production,eval,alice,h100,2,nightly",
        "2026-03-01T08:00:00Z,vision,16,60,,,,,,",
    )

    plain, full = read_trace(path).jobs

    assert (full.job_id, full.user, full.tier, full.kind, full.gpu_model) == (
        "nightly", "alice", "production", "eval", "h100",
    )  # fmt: skip
    assert (full.nodes, full.gpus_per_node, full.submit_s) == (2, 8, 30.0)
    assert (plain.user, plain.tier, plain.nodes) == (None, None, None)
    assert read_trace(path).start_at == datetime(2026, 3, 1, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "row", "words"),
    [
        ("submit_time,tenant,gpus", "1,a,1", ["lacks this column", "duration_s"]),
        (
            "submit_time,tenant,gpus,duration_s,colour",
            "1,a,1,1,red",
            ["unknown column", "colour", "gpu_model"],
        ),
        ("tenant,gpus,duration_s", "a,1,1", ["exactly one column of times"]),
        ("submit_time,submitted_at,tenant,gpus,duration_s", "1,2,a,1,1", ["exactly one column of times"]),
        ("submit_time,tenant,gpus,gpus,duration_s", "1,a,1,1,1", ["twice", "gpus"]),
        (
            "submit_time,tenant,gpus,duration_s,tier",
            "1,a,1,1,urgent",
            ["line 2", "tier", "'urgent'", "best_effort"],
        ),
        ("submit_time,tenant,gpus,duration_s,nodes", "1,a,9,1,2", ["line 2", "nodes", "divides the 9 GPUs"]),
        ("submit_time,tenant,gpus,duration_s", "1,a,1", ["line 2", "3 cells", "4, as in the header"]),
    ],
)
def test_mistakes_are_named(tmp_path, header, row, words):
    with pytest.raises(TraceError) as raised:
        read_trace(write(tmp_path / "jobs.csv", header, row), "csv")

    for word in words:
        assert word in str(raised.value)


def test_the_format_is_found_by_the_header(tmp_path):
    path = write(tmp_path / "x.csv", "timestamp,duration,num_gpus,gpu_time,cluster")

    assert detect_format(path) == "philly"


def test_an_unknown_header_lists_what_is_known(tmp_path):
    path = write(tmp_path / "x.csv", "when,who,how_many", "1,2,3")

    with pytest.raises(TraceError, match=r"how_many.*philly"):
        detect_format(path)


def test_an_unknown_format_lists_the_formats(tmp_path):
    with pytest.raises(TraceError, match=r"'swf'.*philly, helios, openb, csv"):
        read_trace(write(tmp_path / "x.csv", "a,b"), "swf")


def test_files_that_cannot_be_read_say_why(tmp_path):
    broken = tmp_path / "broken.csv.gz"
    broken.write_bytes(b"this is not gzip")
    latin = tmp_path / "latin.csv"
    latin.write_bytes("tenant,gpus,duration_s,submit_time\ncaf\xe9,1,1,1\n".encode("latin-1"))
    empty = write(tmp_path / "empty.csv", "")

    for path, words in (
        (tmp_path / "none.csv", "no such file"),
        (broken, "not a whole gzip file"),
        (latin, "not UTF-8"),
        (empty, "the file is empty"),
    ):
        with pytest.raises(TraceError, match=words):
            read_trace(path, "csv")
