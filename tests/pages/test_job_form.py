"""Submitting by hand: durations as people write them, errors with value and mend, nothing typed twice."""

import pytest
from django.core.exceptions import ValidationError

from cluster.models import Job
from cluster.pages.job_form import DurationField

pytestmark = pytest.mark.django_db
GOOD = {"name": "try", "tenant": "vision", "tier": "research", "kind": "training", "gpus": "16",
        "locality_required": "cluster", "locality_preferred": "block", "expected_duration_s": "1 h 30 min",
        "preemptible": "on", "checkpoint_on_signal": "on", "grace_s": "3 min"}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("90 s", 90),
        ("45 min", 2700),
        ("45m", 2700),
        ("6h", 21600),
        ("2 d 4 h", 187200),
        ("1,5 h", 5400),
    ],
)
def test_a_duration_is_read_as_people_write_it(text, seconds):
    assert DurationField().clean(text) == seconds


@pytest.mark.parametrize("text", ["soon", "6 weeks", "-3 h", "h", "99999 d"])
def test_what_is_no_duration_is_quoted_with_the_mend(text):
    with pytest.raises(ValidationError, match=r"write it like|shorter"):
        DurationField().clean(text)


def test_a_good_job_is_accepted_as_asked(scene):
    answer = scene.client("researcher").post("/jobs/new/", GOOD)
    job = Job.objects.get(name="try")
    assert (answer.status_code, answer.url) == (302, f"/jobs/{job.pk}/")
    assert (job.gpus, job.expected_duration_s, job.grace_s, job.owner.username) == (
        16,
        5400,
        180,
        "researcher",
    )
    assert job.retry_limit == 3 and job.checkpoint_interval_s is None


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"gpus": "4096"}, "4096 is more than the 64 H100 GPUs installed"),
        ({"gpus": "10", "nodes": "3", "gpus_per_node": "4"}, "10 is not 3 nodes × 4 GPUs = 12"),
        ({"gpus": "64", "locality_required": "block"}, "ask for a wider locality or a smaller gang"),
        ({"expected_duration_s": "a while"}, "&#x27;a while&#x27; is not a duration"),
        ({"workload": "{broken"}, "Enter a valid JSON"),
        ({"tier": "best_effort", "preemptible": ""}, "best-effort jobs run on borrowed GPUs"),
        ({"name": ""}, "This field is required"),
    ],
)
def test_an_error_names_the_value_and_the_mend_and_keeps_the_input(scene, change, says):
    answer = scene.client("researcher").post("/jobs/new/", {**GOOD, **change, "dataset": "kept-by-the-form"})
    text = answer.content.decode()
    assert answer.status_code == 400
    assert says in text
    assert 'value="kept-by-the-form"' in text
    assert "The job was not accepted" in text and 'aria-invalid="true"' in text
    assert not Job.objects.filter(name="try").exists()


def test_only_tenants_for_which_one_may_submit_are_offered(scene):
    text = scene.client("researcher").get("/jobs/new/").content.decode()
    assert '<option value="vision"' in text
    assert '<option value="speech"' not in text and '<option value="lab"' not in text
    assert "You may not submit jobs" in scene.client("viewer").get("/jobs/new/").content.decode()


def test_a_tenant_that_is_not_ones_own_is_refused(scene):
    answer = scene.client("researcher").post("/jobs/new/", {**GOOD, "tenant": "speech"})
    assert answer.status_code == 400
    assert not Job.objects.filter(name="try").exists()
