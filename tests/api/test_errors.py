"""A refusal names the field, the value that was given, and the mend."""

import pytest
from django.db import IntegrityError

from cluster.engines.contract import EngineUnreachable

LEAST = {"tenant": "vision", "name": "n", "gpus": 8, "expected_duration_s": 60}


@pytest.fixture
def client(two_tenants, client_of):
    return client_of(two_tenants.people["cluster_owner"])


@pytest.mark.parametrize(
    ("field", "value", "mend"),
    [
        ("tenant", "nobody", "/api/v1/tenants/"),
        ("gpu_model", "H999", "/api/v1/gpu-models/"),
        ("tier", "urgent", "production, research, best_effort"),
        ("tier", ["research"], "production, research, best_effort"),
        ("gpus", -1, "a whole number from 1 to"),
        ("gpus", "many", "a whole number from 1 to"),
        ("expected_duration_s", None, "a whole number from 1 to"),
        ("name", "", "non-empty text of at most 128 characters"),
        ("name", "a\x00b", "non-empty text"),
        ("locality_required", "galaxy", "node, block, pod, cluster"),
        ("not_before", "tomorrow", "ISO 8601"),
        ("not_before", "9999-01-01T00:00:00Z", "ISO 8601"),
        ("workload", [1], "a JSON object"),
        ("workload", {"x": "a\x00b"}, "a JSON object"),
        ("workload", {"x": "y" * 20_000}, "a JSON object"),
        ("dataset_gb", -0.5, "a number from 0"),
        ("preemptible", "perhaps", "true or false"),
    ],
)
def test_each_field_of_a_submission(client, field, value, mend):
    answer = client.post("/api/v1/jobs/", {**LEAST, field: value})
    assert answer.status_code == 400, answer.content
    problem = answer.json()["errors"][0]
    assert problem["field"].split(".")[0] == field
    assert mend in problem["mend"]
    if not isinstance(value, dict):
        assert problem["value"] == value


def test_all_problems_are_told_at_once(client):
    answer = client.post("/api/v1/jobs/", {"gpus": 0, "tier": "urgent"})
    told = {problem["field"] for problem in answer.json()["errors"]}
    assert told == {"tenant", "name", "gpus", "expected_duration_s", "tier"}
    assert answer.json()["status"] == 400 and answer.json()["code"] == "invalid"


def test_a_field_that_does_not_exist_is_not_passed_over(client):
    answer = client.post("/api/v1/jobs/", {**LEAST, "gpu": 8})
    problem = answer.json()["errors"][0]
    assert (problem["field"], problem["value"]) == ("gpu", 8)
    assert "gpus" in problem["message"]


def test_numbers_too_large_for_a_database_are_refused(client):
    for body in ({"gpus": 2**40}, {"nodes": 2**31, "gpus_per_node": 8, "gpus": None}, {"grace_s": 2**63}):
        assert client.post("/api/v1/jobs/", {**LEAST, **body}).status_code == 400, body
    text = '{"tenant": "vision", "name": "n", "gpus": 8, "expected_duration_s": 60, "workload": {"x": 1e999}}'
    assert client.post("/api/v1/jobs/", text, content_type="application/json").status_code == 400


@pytest.mark.parametrize("body", ["{", "[1]", '"text"', "null", '{"gpus": NaN}'])
def test_a_body_that_is_not_an_object_is_refused(client, body):
    answer = client.post("/api/v1/jobs/", body, content_type="application/json")
    assert answer.status_code == 400, answer.content
    assert answer.json()["detail"]


def test_another_kind_of_body_is_415(client):
    assert client.post("/api/v1/jobs/", "a=b", content_type="text/plain").status_code == 415


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("state=sleeping", "state"),
        ("tenant=nobody", "tenant"),
        ("gpus_min=-1", "gpus_min"),
        ("gpus_min=1.5", "gpus_min"),
        ("gpus_min=99999999999999999999", "gpus_min"),
        ("admin_hold=maybe", "admin_hold"),
        ("submitted_from=yesterday", "submitted_from"),
        ("ordering=colour", "ordering"),
        ("page=one", "page"),
        ("page=99999999999999999999999", "page"),
    ],
)
def test_each_filter_of_a_list(client, query, field):
    answer = client.get(f"/api/v1/jobs/?{query}")
    assert answer.status_code == 400, answer.content
    problem = answer.json()["errors"][0]
    assert (problem["field"], problem["value"]) == (field, query.split("=")[1].replace("%2B", "+"))


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00%2B14:00", "0001-01-01T00:00:00Z"])
def test_the_edge_of_a_window_may_lie_before_all_calendars(two_tenants, client, moment):
    two_tenants.tiny.submit(two_tenants.vision)
    assert client.get(f"/api/v1/jobs/?submitted_from={moment}").json()["count"] == 1
    assert client.get(f"/api/v1/jobs/?submitted_to={moment}").json()["count"] == 0
    assert client.get("/api/v1/jobs/?submitted_to=9999-12-31T23:59:59-14:00").json()["count"] == 1


def test_keys_that_no_row_can_have_are_simply_not_there(client):
    for address in (
        "jobs/99999999999999999999999/",
        f"jobs/{'9' * 5000}/",
        "jobs/-1/",
        "nodes/%00/",
        "ticks/x/",
    ):
        answer = client.get(f"/api/v1/{address}")
        assert (answer.status_code, answer["Content-Type"]) == (404, "application/json"), address


def test_an_address_that_leads_nowhere_answers_in_json(client_of):
    answer = client_of().get("/api/v2/jobs/")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert "/api/docs/" in answer.json()["detail"]


def test_an_error_of_a_csv_list_is_json(client):
    answer = client.get("/api/v1/jobs.csv?state=sleeping")
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/json")


def test_a_change_at_the_same_moment_is_a_conflict(client, monkeypatch):
    def clash(**_):
        raise IntegrityError("gpu_in_one_open_allocation")

    monkeypatch.setattr("cluster.api.jobs.submit_job", clash)
    answer = client.post("/api/v1/jobs/", LEAST)
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    assert "gpu_in_one_open_allocation" not in answer.json()["detail"], "no insides of the database"


def test_an_engine_that_does_not_answer_is_503(client, monkeypatch):
    def silence(**_):
        raise EngineUnreachable("no route to slurmctld")

    monkeypatch.setattr("cluster.api.jobs.submit_job", silence)
    assert client.post("/api/v1/jobs/", LEAST).status_code == 503


def test_nobody_is_told_how_to_sign_in(client_of, db):
    answer = client_of().get("/api/v1/jobs/")
    assert (answer.status_code, answer.json()["code"]) == (401, "not_authenticated")
    assert answer["WWW-Authenticate"] == "Token"
