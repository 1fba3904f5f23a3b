"""manage.py submit: a file of jobs, all or none."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from cluster.models import Job
from tests.commands.files import EXAMPLES

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def cluster(db):
    call_command("import_cluster", str(EXAMPLES / "cluster.yaml"), stdout=StringIO(), stderr=StringIO())


def submit(path, **options):
    out = StringIO()
    call_command("submit", str(path), stdout=out, stderr=out, **options)
    return out.getvalue()


def jobs_file(tmp_path, *entries):
    path = tmp_path / "jobs.yaml"
    path.write_text("jobs:\n" + "".join(f"  - {{{entry}}}\n" for entry in entries))
    return path


def test_the_example_is_accepted_whole():
    out = submit(EXAMPLES / "jobs.yaml", by="rita")

    assert "vit-huge-pretraining, 32 h100, vision" in out
    job = Job.objects.get(name="vit-huge-pretraining")
    assert (job.nodes, job.gpus_per_node, job.locality_required, job.locality_preferred) == (
        4,
        8,
        "pod",
        "block",
    )
    assert (job.checkpoint_interval_s, job.checkpoint_cost_s, job.grace_s) == (1800, 60, 120)
    assert (job.dataset, job.dataset_gb, job.code_version) == ("imagenet-22k", 1200, "vit@4f1c9e2")
    assert job.workload == {"command": "torchrun train.py --config huge.yaml"}
    look = Job.objects.get(name="quick-look")
    assert (look.owner.username, look.gpus, look.nodes, look.tier) == ("rita", 1, None, "research")


def test_one_bad_job_refuses_the_file(tmp_path):
    path = jobs_file(
        tmp_path,
        "name: good, tenant: vision, gpus: 8, gpu_model: h100, expected_duration_s: 60",
        "name: huge, tenant: vision, gpus: 1000, gpu_model: h100, expected_duration_s: 60",
        "name: lost, tenant: nowhere, gpus: 8, gpu_model: h100, expected_duration_s: 60",
    )

    with pytest.raises(CommandError) as refused:
        submit(path, by="rita")

    text = str(refused.value)
    assert "no job was submitted" in text
    assert "jobs.yaml:3: jobs[1].gpus: asks for 1000 h100; the whole fleet has 128 on 16 nodes" in text
    assert "jobs.yaml:4: jobs[2].tenant: there is no tenant 'nowhere'" in text
    assert not Job.objects.exists()


def test_an_owner_without_the_right_refuses_the_file(tmp_path):
    path = jobs_file(
        tmp_path,
        "name: mine, tenant: vision, gpus: 8, expected_duration_s: 60",
        "name: theirs, tenant: speech, gpus: 8, expected_duration_s: 60",
    )

    with pytest.raises(CommandError, match=r"jobs.yaml:3: jobs\[1\].*rita.*submit job.*speech"):
        submit(path, by="rita")

    assert not Job.objects.exists()


def test_a_job_needs_an_owner(tmp_path):
    path = jobs_file(tmp_path, "name: mine, tenant: vision, gpus: 8, expected_duration_s: 60")

    with pytest.raises(CommandError, match="has no owner; allowed: owner: NAME, or --as NAME"):
        submit(path)


def test_an_unknown_submitter_is_named(tmp_path):
    path = jobs_file(tmp_path, "name: mine, tenant: vision, gpus: 8, expected_duration_s: 60")

    with pytest.raises(CommandError, match="--as nobody: there is no active user"):
        submit(path, by="nobody")
