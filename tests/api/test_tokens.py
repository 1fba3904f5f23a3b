"""Keys to the API: made once, shown once, limited, one's own."""

import base64
from datetime import timedelta

import pytest
from django.test import override_settings
from django.utils import timezone
from rest_framework.test import APIClient

from tenancy.models import ApiToken


def with_key(key: str) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Token {key}")
    return client


def with_password(name: str, password: str) -> APIClient:
    client = APIClient()
    code = base64.b64encode(f"{name}:{password}".encode()).decode()
    client.credentials(HTTP_AUTHORIZATION=f"Basic {code}")
    return client


@pytest.fixture
def client(two_tenants, client_of):
    return client_of(two_tenants.people["researcher"])


def test_a_key_opens_the_api_with_the_rights_of_its_user(client):
    made = client.post("/api/v1/tokens/", {"label": "nightly", "expires_in_days": 7})
    assert made.status_code == 201 and made["Cache-Control"] == "no-store"
    key = made.json()["token"]
    assert key.startswith("lk_") and made.json()["label"] == "nightly"
    assert with_key(key).get("/api/v1/jobs/").status_code == 200
    assert with_key(key).post("/api/v1/nodes/p1b1n1/drain/", {"reason": "x"}).status_code == 403


def test_a_key_is_shown_once_and_only_a_digest_is_kept(client):
    key = client.post("/api/v1/tokens/", {}).json()["token"]
    listed = client.get("/api/v1/tokens/").json()["results"]
    assert [set(row) for row in listed] == [{"id", "label", "created_at", "expires_at"}]
    assert key not in client.get("/api/v1/tokens/").content.decode()
    token = ApiToken.objects.get()
    assert key not in (token.digest, token.token_key)


def test_a_revoked_key_opens_nothing(client):
    made = client.post("/api/v1/tokens/", {}).json()
    assert client.delete(f"/api/v1/tokens/{made['id']}/").status_code == 204
    assert with_key(made["token"]).get("/api/v1/jobs/").status_code == 401


def test_an_expired_key_opens_nothing(client):
    key = client.post("/api/v1/tokens/", {}).json()["token"]
    ApiToken.objects.update(expiry=timezone.now() - timedelta(seconds=1))
    assert with_key(key).get("/api/v1/jobs/").status_code == 401


def test_keys_of_others_do_not_exist(client, two_tenants, client_of):
    other = client_of(two_tenants.people["tenant_admin"])
    made = other.post("/api/v1/tokens/", {}).json()
    assert client.get("/api/v1/tokens/").json()["count"] == 0
    assert client.get(f"/api/v1/tokens/{made['id']}/").status_code == 404
    assert client.delete(f"/api/v1/tokens/{made['id']}/").status_code == 404
    assert other.get(f"/api/v1/tokens/{made['id']}/").status_code == 200


def test_a_key_makes_no_other_key(client):
    key = client.post("/api/v1/tokens/", {}).json()["token"]
    answer = with_key(key).post("/api/v1/tokens/", {})
    assert (answer.status_code, "cannot make another" in answer.json()["detail"]) == (403, True)


def test_name_and_password_make_a_key_and_do_nothing_else(two_tenants):
    assert with_password("researcher", "pass").post("/api/v1/tokens/", {}).status_code == 201
    assert with_password("researcher", "wrong").post("/api/v1/tokens/", {}).status_code == 401
    assert with_password("researcher", "pass").get("/api/v1/tokens/").status_code == 401
    assert with_password("researcher", "pass").get("/api/v1/jobs/").status_code == 401


@override_settings(AXES_ENABLED=True, AXES_FAILURE_LIMIT=3)
def test_guessing_passwords_locks_the_door(two_tenants):
    for _ in range(3):
        with_password("researcher", "wrong").post("/api/v1/tokens/", {})
    assert with_password("researcher", "pass").post("/api/v1/tokens/", {}).status_code == 401
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"expires_in_days": 0}, "expires_in_days"),
        ({"expires_in_days": 10_000}, "expires_in_days"),
        ({"label": "x" * 65}, "label"),
        ({"days": 3}, "days"),
    ],
)
def test_what_a_key_cannot_be(client, body, field):
    answer = client.post("/api/v1/tokens/", body)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, field)


def test_the_number_of_keys_is_limited(client):
    for _ in range(20):
        assert client.post("/api/v1/tokens/", {}).status_code == 201
    answer = client.post("/api/v1/tokens/", {})
    assert (answer.status_code, "revoke one first" in answer.json()["detail"]) == (409, True)
