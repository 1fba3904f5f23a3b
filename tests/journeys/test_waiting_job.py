"""The researcher's journey: submit a job that cannot run, read why, and see it start when there is room."""

import os
from pathlib import Path

import pytest
from django.db import connections
from django.test import override_settings

from cluster.engines.simulated import start_clock
from cluster.models import SimulatedClock
from cluster.services.cancel_job import cancel_job
from cluster.supervisor import programs
from tests.factories import TinyCluster
from tests.journeys.processes import free_port, running, wait_until_it_answers

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not Path(CHROMIUM).exists(), reason=f"no Chromium at {CHROMIUM}: set CHROMIUM=…"),
]


@pytest.fixture
def browser_page(monkeypatch):
    # Playwright's sync API runs an event loop in this thread, which Django would refuse to share.
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    from playwright.sync_api import sync_playwright

    quiet = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=quiet)
        yield browser.new_context().new_page()
        browser.close()
        connections.close_all()  # the ones of this loop: outside of it others are meant


@pytest.fixture
def site(tmp_path):
    """A full cluster, served: 48 of 64 GPUs run one gang; the clock goes 30 times faster than life."""
    tiny = TinyCluster()
    vision = tiny.tenant("vision", gpus=64)
    people = tiny.people(vision)
    give_password(people["researcher"])
    big = tiny.running(vision, gpus=48, tier="production", by=people["researcher"], grace_s=60)
    start_clock(30)
    assert SimulatedClock.objects.get().node_failures_per_1000_days == 0.0
    port = free_port()
    web, worker = programs.web("127.0.0.1", port, tmp_path), programs.worker(tmp_path)
    with running(web, tmp_path) as server, running(worker, tmp_path):
        url = f"http://127.0.0.1:{port}"
        wait_until_it_answers(f"{url}/login/", server)
        yield url, big, people["researcher"]
    connections.close_all()


def give_password(user) -> None:
    """One that the served site can check: it does not know the cheap hash of the test settings."""
    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.PBKDF2PasswordHasher"]):
        user.set_password("pass")
        user.save()


def test_a_job_that_cannot_run_says_why_and_starts_when_there_is_room(site, browser_page):
    url, big, researcher = site
    page = browser_page
    page.goto(f"{url}/login/")
    page.fill("input[name=username]", "researcher")
    page.fill("input[name=password]", "pass")
    page.click("button[type=submit]")

    page.goto(f"{url}/jobs/new/")
    page.fill("input[name=name]", "hopeful")
    page.fill("input[name=gpus]", "24")
    page.fill("input[name=expected_duration_s]", "2 h")
    page.click("main button[type=submit]")
    page.wait_for_url("**/jobs/*/")

    # It waits, and says for what, with its arithmetic, without anybody reloading the page.
    page.evaluate("window.neverReloaded = true")
    page.get_by_text("24 GPUs asked, 16 free").first.wait_for(timeout=30_000)

    cancel_job(by=researcher, job=big)
    page.get_by_text("Started as run 1").first.wait_for(timeout=45_000)
    assert page.evaluate("window.neverReloaded") is True
