"""Jobs files: checked against the cluster they are for, all at once."""

import textwrap
from pathlib import Path

import pytest

from cluster.imports.jobs_checks import JobsContext, spread_of
from cluster.imports.jobs_schema import JobEntry
from cluster.imports.loader import load_jobs
from cluster.imports.problems import ImportRefused
from cluster.scheduler.fleet import Fleet, NodeView

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def fleet():
    """Two pods of two blocks of two h100 nodes, and one a100 node."""
    nodes = [
        NodeView(f"n{pod}{block}{n}", "h100", 8, f"b{pod}{block}", f"p{pod}")
        for pod in (1, 2)
        for block in (1, 2)
        for n in (1, 2)
    ]
    return Fleet([*nodes, NodeView("m1", "a100", 8, "b31", "p3")])


def context():
    return JobsContext(
        fleet(), teams={"vision", "science"}, organisations={"org"}, owners={"rita"}, usual_models={}
    )


def findings(tmp_path, text):
    path = tmp_path / "jobs.yaml"
    path.write_text(textwrap.dedent(text))
    try:
        return [str(warning) for warning in load_jobs(path, context()).warnings]
    except ImportRefused as refused:
        return [str(problem) for problem in refused.problems]


def job(extra):
    return f"jobs: [{{name: j, tenant: vision, expected_duration_s: 60, {extra}}}]"


@pytest.mark.parametrize(
    "extra",
    [
        "gpus: 64, gpu_model: h100",
        "nodes: 2, gpus_per_node: 4, gpu_model: h100",
        "gpus: 12, nodes: 2, gpu_model: h100",
        "gpus: 32, gpu_model: h100, locality: {required: pod}",
        "gpus: 8, gpu_model: h100, locality: {required: node, preferred: node}",
        "gpus: 1, gpu_model: h100, not_before: 2026-03-01T08:00:00Z",
        "gpus: 1, gpu_model: h100, not_before: '2026-03-01 08:00+01:00'",
    ],
)
def test_what_can_run_is_accepted(tmp_path, extra):
    assert findings(tmp_path, job(extra)) == []


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        (
            "gpus: 72, gpu_model: h100",
            "asks for 72 h100; the whole fleet has 64 on 8 nodes, so it can never run",
        ),
        (
            "gpus: 32, gpu_model: h100, locality: {required: block}",
            "asks for 4 nodes with 8 h100 in one block; the most there is 2, so it can never run",
        ),
        (
            "nodes: 5, gpus_per_node: 8, gpu_model: h100, locality: {required: pod}",
            "asks for 5 nodes with 8 h100 in one pod; the most there is 4",
        ),
        (
            "gpus: 16, gpu_model: h100, locality: {required: node, preferred: node}",
            "asks for 16 GPUs on one node; the largest h100 node has 8",
        ),
        (
            "nodes: 9, gpus_per_node: 1, gpu_model: h100",
            "asks for 9 nodes with 1 h100 in the whole fleet; the most",
        ),
        ("gpus: 8", "jobs[0]: does not say which GPU model it asks for; allowed: a100, h100"),
        (
            "gpus: 8, gpu_model: b200",
            "jobs[0].gpu_model: no node has GPUs of the model 'b200'; allowed: a100, h100",
        ),
        (
            "gpu_model: h100",
            "does not say how many GPUs it asks for; allowed: gpus, or nodes and gpus_per_node",
        ),
        ("nodes: 2, gpu_model: h100", "does not say how many GPUs"),
        ("gpus: 9, nodes: 2, gpu_model: h100", "9 GPUs cannot be shared equally by 2 nodes"),
        ("gpus: 9, gpus_per_node: 4, gpu_model: h100", "9 GPUs cannot be shared out 4 to a node"),
        (
            "gpus: 9, nodes: 2, gpus_per_node: 4, gpu_model: h100",
            "gpus is 9, but nodes × gpus_per_node is 2 × 4 = 8",
        ),
        ("gpus: 8, gpu_model: h100, owner: bob", "jobs[0].owner: there is no user 'bob'"),
        (
            "gpus: 8, gpu_model: h100, tier: best_effort, preemptible: false",
            "jobs[0].preemptible: best-effort jobs run on borrowed GPUs and are always preemptible",
        ),
        (
            "gpus: 8, gpu_model: h100, tier: urgent",
            "tier: 'urgent' is not allowed; allowed: production, research or",
        ),
        ("gpus: 8, gpu_model: h100, node: n111", "jobs[0].node: unknown key; allowed: name, tenant, owner"),
        (
            "gpus: 8, gpu_model: h100, locality: {required: rack}",
            "jobs[0].locality.required: 'rack' is not allowed; allowed: node, block, pod or cluster",
        ),
        (
            "gpus: 8, gpu_model: h100, locality: {required: block, preferred: pod}",
            "'pod' is wider than what is required ('block'); allowed: node, block",
        ),
        ("gpus: 8, gpu_model: h100, not_before: 2026-03-01T08:00:00", "has no zone"),
        ("gpus: 8, gpu_model: h100, not_before: soon", "allowed: a time such as"),
    ],
)
def test_what_cannot_is_refused_with_the_arithmetic(tmp_path, extra, expected):
    found = findings(tmp_path, job(extra))

    assert any(expected in text for text in found), found


def test_unknown_tenants_and_organisations_are_told_apart(tmp_path):
    text = """
        jobs:
          - {name: a, tenant: nobody, gpus: 1, gpu_model: h100, expected_duration_s: 60}
          - {name: b, tenant: org, gpus: 1, gpu_model: h100, expected_duration_s: 60}
    """

    unknown, organisation = findings(tmp_path, text)

    assert "jobs.yaml:3: jobs[0].tenant: there is no tenant 'nobody'; allowed: science, vision" in unknown
    assert "jobs.yaml:4: jobs[1].tenant: 'org' is an organisation; jobs belong to its teams" in organisation


def test_a_grace_too_short_for_a_checkpoint_is_a_warning(tmp_path):
    found = findings(tmp_path, job("gpus: 8, gpu_model: h100, checkpoint: {cost_s: 300, grace_s: 120}"))

    assert len(found) == 1
    assert "warning: a checkpoint takes 300 s but the grace is 120 s" in found[0]


def test_a_limit_below_the_expectation_is_a_warning(tmp_path):
    found = findings(tmp_path, job("gpus: 8, gpu_model: h100, time_limit_s: 30"))

    assert "warning: the limit of 30 s ends it before the 60 s it expects" in found[0]


def test_the_example_names_only_keys_that_exist(tmp_path):
    everything = JobsContext(fleet(), {"vision", "science"}, (), {"rita"}, {})
    text = (
        (EXAMPLES / "jobs.yaml")
        .read_text()
        .replace("gpus: 16\n    gpu_model: a100", "gpus: 8\n    gpu_model: a100")
    )
    path = tmp_path / "jobs.yaml"
    path.write_text(text)

    loaded = load_jobs(path, everything)

    assert [entry.name for entry in loaded.jobs] == [
        "quick-look",
        "vit-huge-pretraining",
        "protein-folding-sweep",
    ]
    assert loaded.warnings == []


def test_spread_and_model_follow_from_what_is_said():
    def entry(**fields):
        return JobEntry(name="j", tenant="t", expected_duration_s=1, **fields)

    assert spread_of(entry(gpus=16)) == (None, None)
    assert spread_of(entry(gpus=16, nodes=4)) == (4, 4)
    assert spread_of(entry(gpus=16, gpus_per_node=8)) == (2, 8)
    assert spread_of(entry(nodes=3, gpus_per_node=2)) == (3, 2)


def test_a_job_that_names_no_model_gets_the_usual_one_of_its_tenant():
    entry = JobEntry(name="j", tenant="vision", gpus=1, expected_duration_s=1)
    single = Fleet([NodeView("n", "h100", 8, "b", "p")])

    def model(fleet, usual):
        return JobsContext(fleet, {"vision"}, (), (), usual).model_of(entry)

    assert model(fleet(), {"vision": "a100"}) == "a100"
    assert model(single, {}) == "h100"
    assert model(fleet(), {}) is None
