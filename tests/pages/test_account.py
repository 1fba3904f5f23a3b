"""Signing in, the time zone, and API tokens that are shown once."""

import re

import pytest
from django.test import Client

from tenancy.models import ApiToken

pytestmark = pytest.mark.django_db


def test_signing_in_leads_to_the_page_that_was_asked(two_tenants):
    client = Client()
    answer = client.post(
        "/login/?next=/queue/", {"username": "viewer", "password": "pass", "next": "/queue/"}
    )
    assert (answer.status_code, answer.url) == (302, "/queue/")


def test_a_wrong_password_keeps_the_name_and_says_so(two_tenants):
    text = Client().post("/login/", {"username": "viewer", "password": "wrong"}).content.decode()
    assert 'value="viewer"' in text and 'role="alert"' in text


def test_a_token_is_shown_once_and_opens_the_api(two_tenants):
    client = Client()
    client.force_login(two_tenants.people["viewer"])
    made = client.post("/tokens/new/", {"label": "nightly report"})
    token = re.search(r'<pre id="fresh-token">(\w+)</pre>', made.content.decode()).group(1)
    assert made["Cache-Control"] == "no-store"
    listed = client.get("/tokens/").content.decode()
    assert token not in listed and "nightly report" in listed
    assert Client().get("/api/v1/nodes/", headers={"Authorization": f"Token {token}"}).status_code == 200


def test_a_token_is_revoked_by_its_owner_alone(two_tenants):
    row, _ = ApiToken.objects.create(user=two_tenants.people["viewer"])
    stranger, owner = Client(), Client()
    stranger.force_login(two_tenants.people["researcher"])
    owner.force_login(two_tenants.people["viewer"])
    assert stranger.post(f"/tokens/{row.token_key}/revoke/").status_code == 404
    assert owner.post(f"/tokens/{row.token_key}/revoke/").status_code == 302
    assert not ApiToken.objects.exists()


def test_times_are_shown_in_the_readers_zone(scene):
    client = scene.client("cluster_owner")
    assert client.post("/account/time-zone/", {"time_zone": "Asia/Tokyo"}).status_code == 302
    text = client.get("/").content.decode()
    assert 'data-zone="Asia/Tokyo"' in text and "17:0" in text  # 08:0x UTC
    assert "+09:00" in client.get("/queue/?format=csv").content.decode()


def test_an_unknown_zone_is_refused_with_the_mend(two_tenants):
    client = Client()
    client.force_login(two_tenants.people["viewer"])
    answer = client.post("/account/time-zone/", {"time_zone": "Middle/Earth"})
    assert answer.status_code == 400
    assert "is not a known time zone: give a name like UTC" in answer.content.decode()


def test_the_theme_is_in_the_first_byte(scene, owner):
    owner.cookies["lockstep_theme"] = "dark"
    assert '<html lang="en-GB" data-theme="dark">' in owner.get("/").content.decode()
    owner.cookies["lockstep_theme"] = "<evil>"
    assert "evil" not in owner.get("/").content.decode()
