"""Submitting a job, acting on it, and reading why it waits."""

import pytest

from cluster.api.job_request import JobRequest
from cluster.models import Job, JobState
from cluster.pipeline.forecasts import refresh
from tests.api.conftest import rows

ASKED = {
    "tenant": "vision",
    "name": "gpt-nano",
    "nodes": 2,
    "gpus_per_node": 8,
    "gpu_model": "H100",
    "tier": "production",
    "kind": "fine_tuning",
    "locality_required": "pod",
    "locality_preferred": "block",
    "expected_duration_s": 7200,
    "time_limit_s": 10_000,
    "checkpoint_on_signal": True,
    "checkpoint_interval_s": 900,
    "checkpoint_cost_s": 45,
    "grace_s": 200,
    "restart_cost_s": 90,
    "readiness_timeout_s": 1200,
    "retry_limit": 2,
    "preemption_budget": 1,
    "dataset": "imagenet",
    "dataset_gb": 150.5,
    "code_version": "abc123",
    "not_before": "2026-03-02T10:00:00Z",
    "workload": {"image": "trainer:7"},
}


@pytest.fixture
def researcher(two_tenants, client_of):
    return client_of(two_tenants.people["researcher"])


def test_every_field_that_a_tenant_states_is_kept(researcher):
    answer = researcher.post("/api/v1/jobs/", ASKED)
    assert answer.status_code == 201, answer.content
    shown = answer.json()
    assert {name: shown[name] for name in ASKED} == ASKED
    assert (shown["gpus"], shown["owner"], shown["state"]) == (16, "researcher", "pending")
    assert shown["preemptible"] is False, "production is never preempted"
    assert researcher.get(f"/api/v1/jobs/{shown['id']}/").json() == shown


def test_what_is_left_out_has_its_usual_value(researcher):
    least = {"tenant": "vision", "name": "small", "gpus": 8, "expected_duration_s": 60}
    shown = researcher.post("/api/v1/jobs/", least).json()
    assert (shown["tier"], shown["kind"], shown["gpu_model"], shown["grace_s"]) == (
        "research",
        "training",
        "H100",
        120,
    )
    assert shown["time_limit_s"] is None, "no limit"


def test_a_job_that_could_never_run_is_refused_with_the_arithmetic(researcher):
    answer = researcher.post("/api/v1/jobs/", {**ASKED, "nodes": 100})
    assert answer.status_code == 400
    problem = answer.json()["errors"][0]
    assert (problem["field"], problem["message"].split(" is more")[0]) == ("gpus", "800")
    assert "/api/v1/gpu-models/" in problem["mend"]
    assert not Job.objects.exists()


def test_a_job_for_a_tenant_that_is_not_mine_is_forbidden(researcher):
    answer = researcher.post("/api/v1/jobs/", {**ASKED, "tenant": "speech"})
    assert answer.status_code == 403
    assert "submit job in tenant speech" in answer.json()["detail"]


def test_a_pending_job_is_cancelled_at_once(two_tenants, researcher):
    job = two_tenants.tiny.submit(two_tenants.vision, by=two_tenants.people["researcher"])
    shown = researcher.post(f"/api/v1/jobs/{job.pk}/cancel/").json()
    assert (shown["state"], shown["state_reason"]) == ("cancelled", "by researcher")


def test_a_running_job_gets_its_grace_window(busy, client_of):
    admin = client_of(busy.people["tenant_admin"])
    assert admin.post(f"/api/v1/jobs/{busy.running.pk}/cancel/").json()["state"] == "active"
    run = rows(admin.get(f"/api/v1/jobs/{busy.running.pk}/runs/"))[0]
    assert (run["state"], run["stop_reason"]) == ("stopping", "cancelled")
    busy.scene.tiny.tick()  # sends the signal
    busy.scene.tiny.advance(200)
    assert admin.get(f"/api/v1/jobs/{busy.running.pk}/").json()["state"] == "cancelled"


def test_what_is_over_cannot_be_cancelled_again(two_tenants, researcher):
    job = two_tenants.tiny.submit(two_tenants.vision, by=two_tenants.people["researcher"])
    researcher.post(f"/api/v1/jobs/{job.pk}/cancel/")
    again = researcher.post(f"/api/v1/jobs/{job.pk}/cancel/")
    assert (again.status_code, again.json()["code"]) == (409, "conflict")
    assert "cancelled already" in again.json()["detail"]


def test_a_hold_needs_a_reason_and_ends_with_a_release(two_tenants, researcher):
    job = two_tenants.tiny.submit(two_tenants.vision, by=two_tenants.people["researcher"])
    without = researcher.post(f"/api/v1/jobs/{job.pk}/hold/", {})
    assert (without.status_code, without.json()["errors"][0]["field"]) == (400, "reason")
    held = researcher.post(f"/api/v1/jobs/{job.pk}/hold/", {"reason": "no data yet"}).json()
    assert (held["admin_hold"], held["hold_reason"], held["hold_by"]) == (True, "no data yet", "researcher")
    two_tenants.tiny.tick()
    assert researcher.get(f"/api/v1/jobs/{job.pk}/").json()["reason"] == "admin_hold"
    released = researcher.post(f"/api/v1/jobs/{job.pk}/release/").json()
    assert (released["admin_hold"], released["hold_reason"]) == (False, None)
    assert researcher.post(f"/api/v1/jobs/{job.pk}/release/").status_code == 409


def test_acting_on_what_has_changed_meanwhile_is_a_conflict(two_tenants, researcher):
    tiny = two_tenants.tiny
    job = tiny.submit(two_tenants.vision, by=two_tenants.people["researcher"])
    read = researcher.get(f"/api/v1/jobs/{job.pk}/").json()["version"]
    researcher.post(f"/api/v1/jobs/{job.pk}/hold/", {"reason": "somebody else was faster"})
    late = researcher.post(f"/api/v1/jobs/{job.pk}/cancel/", {"version": read})
    assert late.status_code == 409
    assert "Read it again" in late.json()["detail"]
    assert tiny.fresh(job).state == JobState.PENDING
    now = researcher.get(f"/api/v1/jobs/{job.pk}/").json()["version"]
    assert researcher.post(f"/api/v1/jobs/{job.pk}/cancel/", {"version": now}).status_code == 200


def test_the_explanation_is_the_one_object_of_page_and_command(busy, client_of):
    client = client_of(busy.people["researcher"])
    found = client.get(f"/api/v1/jobs/{busy.waiting.pk}/explain/").json()
    binding = [line for line in found["lines"] if line["binds"]]
    assert [line["constraint"] for line in binding] == [found["constraint"]]
    assert found["headline"] == binding[0]["text"]
    assert found["headline"] in found["text"] and found["hints"]
    assert client.get(f"/api/v1/jobs/{busy.waiting.pk}/").json()["reason"] == found["constraint"]
    brief = client.get(f"/api/v1/jobs/{busy.waiting.pk}/explain/?hints=false").json()
    assert (brief["hints"], brief["headline"]) == ([], found["headline"])


def test_a_job_tells_its_decisions_runs_checkpoints_and_events(busy, client_of):
    client, job = client_of(busy.people["researcher"]), busy.running.pk
    decision = rows(client.get(f"/api/v1/jobs/{job}/decisions/"))[0]
    assert (decision["outcome"], decision["run"], decision["tick"]) == ("start", 1, 1)
    assert client.get(f"/api/v1/decisions/{decision['id']}/").json()["text"] == decision["text"]
    assert [row["number"] for row in rows(client.get(f"/api/v1/jobs/{job}/runs/"))] == [1]
    saved = rows(client.get(f"/api/v1/jobs/{job}/checkpoints/?ordering=at"))
    assert saved and all(row["run"] == 1 and row["progress_s"] > 0 for row in saved)
    kinds = [row["kind"] for row in rows(client.get(f"/api/v1/jobs/{job}/events/"))]
    assert kinds[:3] == ["job.submitted", "job.started", "job.running"]


def test_a_forecast_is_blank_until_there_is_one(busy, client_of):
    client, address = client_of(busy.people["viewer"]), f"/api/v1/jobs/{busy.waiting.pk}/forecast/"
    assert client.get(address).json()["expected_start_median_at"] is None
    refresh(busy.scene.tiny.now)
    told = client.get(address).json()
    assert told["samples"] > 0 and told["computed_at"] == "2026-03-02T08:22:00Z"
    shown = client.get(f"/api/v1/jobs/{busy.waiting.pk}/").json()
    assert shown["expected_start_median_at"] == told["expected_start_median_at"]


FILTERS = {
    "state=pending": {"beta"},
    "state=pending&state=active": {"alpha", "beta", "secret-voice"},
    "tenant=vision": {"alpha", "beta"},
    "tenant=lab": {"alpha", "beta", "secret-voice"},  # with everything below it
    "reason=guarantee": {"beta"},
    "gpus_min=32&gpus_max=32": {"alpha"},
    "tier=production": set(),
    "owner=researcher": {"alpha", "beta"},
    "name=ALPH": {"alpha"},
    "admin_hold=false": {"alpha", "beta", "secret-voice"},
    "submitted_from=2026-03-02T08:02:00Z": {"beta"},
    "submitted_to=2026-03-02T08:02:00Z": {"alpha", "secret-voice"},
}


def test_filters(busy, client_of):
    client = client_of(busy.people["cluster_owner"])
    found = {query: rows(client.get(f"/api/v1/jobs/?{query}")) for query in FILTERS}
    assert {query: {row["name"] for row in each} for query, each in found.items()} == FILTERS


def test_the_service_and_the_api_accept_the_same_fields():
    """Whatever a tenant states can be stated over the API."""
    given_by_the_system = {
        *("id", "owner", "state", "state_reason", "submitted_at", "queued_at", "admin_hold", "hold_reason"),
        *("hold_by", "progress_s", "retries", "preemptions", "ended_at", "version"),
    }
    stated = {field.name for field in Job._meta.concrete_fields} - given_by_the_system
    assert stated == set(JobRequest().fields)
