"""What holds for every page: sign-in first, no foreign script, and no endless guessing of passwords."""

import pytest
from django.test import Client
from django.urls import reverse

from cluster.pages.urls import urlpatterns
from tenancy.models import User

pytestmark = pytest.mark.django_db
PUBLIC = {"login"}
PLAIN = [p.name for p in urlpatterns if p.name not in PUBLIC and not p.pattern.converters]


@pytest.mark.parametrize("name", PLAIN)
def test_nobody_sees_a_page_without_signing_in(client, name):
    address = reverse(name)
    answer = client.get(address)
    if name == "logout":
        assert answer.status_code in (302, 405)
    else:
        assert (answer.status_code, answer.url) == (302, f"{reverse('login')}?next={address}")


def test_only_scripts_of_our_own_run(client):
    policy = client.get(reverse("login"))["Content-Security-Policy"]
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert directives["script-src"] == "'self'"
    assert directives["default-src"] == "'self'"
    assert directives["object-src"] == directives["frame-ancestors"] == "'none'"


def test_the_script_of_the_charts_is_served_from_here(client):
    answer = client.get("/static/plotly/plotly.min.js")
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/javascript")


def test_a_form_without_its_token_is_refused():
    strict = Client(enforce_csrf_checks=True)
    assert strict.post(reverse("login"), {"username": "olga", "password": "x"}).status_code == 403


def test_guessing_a_password_is_stopped(client, settings):
    settings.AXES_ENABLED, settings.AXES_FAILURE_LIMIT = True, 3
    User.objects.create_user("olga", password="right")
    User.objects.create_user("vera", password="also right")
    for _ in range(3):
        answer = client.post(reverse("login"), {"username": "olga", "password": "wrong"})
    assert answer.status_code == 429
    assert client.post(reverse("login"), {"username": "olga", "password": "right"}).status_code == 429
    # others at the same address still get in
    assert client.post(reverse("login"), {"username": "vera", "password": "also right"}).status_code == 302


async def test_static_files_are_sent_whole_and_in_parts_under_asgi(async_client):
    whole = await async_client.get("/static/plotly/plotly.min.js")
    content = b"".join([piece async for piece in whole.streaming_content])
    assert len(content) == int(whole["Content-Length"]) > 1_000_000
    part = await async_client.get("/static/plotly/plotly.min.js", headers={"range": "bytes=10-19"})
    assert part.status_code == 206
    assert b"".join([piece async for piece in part.streaming_content]) == content[10:20]
