"""Limits of requests: by address for nobody, by user for everybody else."""

import pytest
from django.core.cache import cache
from rest_framework.throttling import AnonRateThrottle, UserRateThrottle


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    cache.clear()
    monkeypatch.setattr(AnonRateThrottle, "THROTTLE_RATES", {"anon": "3/min"})
    monkeypatch.setattr(UserRateThrottle, "THROTTLE_RATES", {"user": "5/min"})
    yield
    cache.clear()


def test_nobody_is_limited_by_address(client_of, db):
    client = client_of()
    found = [client.get("/api/schema/").status_code for _ in range(4)]
    assert found == [200, 200, 200, 429]


def test_a_made_up_address_does_not_help(client_of, db):
    client = client_of()
    found = [client.get("/api/schema/", HTTP_X_FORWARDED_FOR=f"10.0.0.{n}").status_code for n in range(4)]
    assert found[-1] == 429


def test_a_user_is_limited_and_told_how_long_to_wait(two_tenants, client_of):
    client = client_of(two_tenants.people["viewer"])
    answers = [client.get("/api/v1/pods/") for _ in range(6)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [429]
    assert int(answers[-1]["Retry-After"]) > 0
    assert (answers[-1].json()["code"], answers[-1].json()["errors"]) == ("throttled", [])


def test_one_user_does_not_use_up_what_another_has(two_tenants, client_of):
    for _ in range(6):
        client_of(two_tenants.people["viewer"]).get("/api/v1/pods/")
    assert client_of(two_tenants.people["researcher"]).get("/api/v1/pods/").status_code == 200
