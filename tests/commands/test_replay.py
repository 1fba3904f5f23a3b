"""manage.py replay: a trace through the planner and the baselines, without a database."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from tests.commands.files import EXAMPLES
from tests.traces.samples import sample
from tests.traces.writing import write

HEADER = "submit_time,tenant,gpus,duration_s"


@pytest.fixture
def trace(tmp_path):
    rows = [f"{n * 600},{'a' if n % 2 else 'b'},{8 if n % 3 else 16},3600" for n in range(12)]
    return write(tmp_path / "jobs.csv", HEADER, *rows)


def replay(trace, **options):
    out = StringIO()
    call_command("replay", trace=str(trace), stdout=out, **options)
    return out.getvalue()


def test_all_schemes_are_reported_as_numbers_and_as_a_table(trace, tmp_path, capsys):
    out = tmp_path / "out.json"

    replay(trace, json=str(out))

    data = json.loads(out.read_text())
    assert list(data["schemes"]) == ["lockstep", "fifo", "easy", "hard_quotas"]
    assert {scheme["jobs"] for scheme in data["schemes"].values()} == {12}
    assert any("cluster is derived" in note for note in data["notes"])
    shown = capsys.readouterr().out
    assert "Strict FIFO" in shown and "GPU-hours on loan" in shown and "jobs.csv (csv): 12 jobs" in shown


def test_numbers_alone_on_standard_output(trace, capsys):
    out = replay(trace, json="-", only="fifo")

    assert list(json.loads(out)["schemes"]) == ["fifo"]
    assert capsys.readouterr().out == ""


def test_only_the_first_days(trace, tmp_path):
    out = tmp_path / "out.json"

    replay(trace, json=str(out), only="lockstep", days=0.04)

    data = json.loads(out.read_text())
    assert data["schemes"]["lockstep"]["jobs"] == 6
    assert any("6 jobs left out" in note for note in data["notes"])


def test_the_policy_file_is_used(trace, tmp_path):
    policy, out = tmp_path / "policy.yaml", tmp_path / "out.json"
    policy.write_text("lending: false\n")

    replay(trace, policy=str(policy), json=str(out), only="lockstep")

    assert json.loads(out.read_text())["schemes"]["lockstep"]["loans_made"] == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"only": "best"}, "--only: 'best' is unknown; allowed: lockstep, fifo, easy, hard_quotas"),
        ({"days": -1}, "--days -1: give a number above 0"),
        ({"format": "philly"}, "lacks this column"),
        ({"cluster": "/nowhere.yaml"}, "no such file"),
        ({"policy": "/nowhere.yaml"}, "no such file"),
        ({"json": "/nowhere/out.json"}, "cannot be written"),
    ],
)
def test_mistakes_are_named(trace, options, words):
    with pytest.raises(CommandError, match=words):
        replay(trace, **({"only": "fifo"} | options))


def test_an_unknown_policy_key_is_named_with_its_line(trace, tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text("lending: false\nfairness: 2\n")

    with pytest.raises(CommandError, match=r"policy.yaml:2: fairness: unknown key; allowed: queueing"):
        replay(trace, policy=str(policy))


def test_a_trace_that_no_cluster_of_this_size_can_run(trace, tmp_path):
    cluster = tmp_path / "philly_vc.csv"
    write(cluster, "vc,node num", "a,1")
    path = write(tmp_path / "large.csv", HEADER, "0,a,64,60")

    with pytest.raises(CommandError, match="no job of it could run on this cluster"):
        replay(path, cluster=str(cluster))


@pytest.mark.shared_data
def test_the_venus_cut_on_its_derived_cluster(tmp_path):
    out = tmp_path / "out.json"

    replay(sample("helios/venus_2vc_jobs_2020-09-01_14.csv.gz"), json=str(out), only="lockstep,fifo")

    schemes = json.loads(out.read_text())["schemes"]
    ours, fifo = schemes["lockstep"], schemes["fifo"]
    assert ours["jobs"] == fifo["jobs"] == 1014
    assert ours["wait"]["never_started"] == fifo["wait"]["never_started"] == 0
    assert round(ours["gpu_hours"]) == 56_672
    assert ours["largest_gang"]["jobs"] == 369
    # Small jobs pass blocked gangs without making those wait longer on average.
    assert ours["wait_by_size"]["1"]["mean_s"] < fifo["wait_by_size"]["1"]["mean_s"] / 10
    assert ours["largest_gang"]["mean_s"] <= fifo["largest_gang"]["mean_s"] * 1.1


@pytest.mark.shared_data
def test_openb_on_its_real_nodes(tmp_path):
    out = tmp_path / "out.json"
    nodes = sample("alibaba-openb-2023/openb_node_list_all_node.csv.gz")

    replay(
        sample("alibaba-openb-2023/openb_pod_list_gpuspec33.csv.gz"),
        cluster=str(nodes),
        json=str(out),
        only="lockstep",
        days=30,
    )

    data = json.loads(out.read_text())
    assert data["nodes"] == 1213
    assert data["installed_gpus"]["G2"] == 4392
    assert data["schemes"]["lockstep"]["wait"]["never_started"] == 0


def test_the_examples_replay_on_the_example_cluster(tmp_path):
    out = tmp_path / "out.json"

    replay(
        EXAMPLES / "trace.csv",
        cluster=str(EXAMPLES / "cluster.yaml"),
        policy=str(EXAMPLES / "policy.yaml"),
        json=str(out),
    )

    schemes = json.loads(out.read_text())["schemes"]
    assert {scheme["jobs"] for scheme in schemes.values()} == {12}
    assert schemes["lockstep"]["wait"]["never_started"] == 0
