"""The job page: why it waits, as it stands now and as it stood; runs, receipts; numbers for strangers."""

import re

import pytest

from cluster.models import Decision, Forecast
from tests.pages.test_today_page import words_of

pytestmark = pytest.mark.django_db


def test_the_checklist_puts_the_one_that_binds_on_top(scene, owner):
    text = owner.get(f"/jobs/{scene.waits.pk}/").content.decode()
    marks = re.findall(r'<li class="(passes|fails|unknown)( binding)?" data-key="(\w+)"', text)
    assert marks[0][0] == "fails" and marks[0][1] == " binding"
    assert [mark for mark, _, _ in marks] == sorted(
        (m for m, _, _ in marks), key=["fails", "unknown", "passes"].index
    )
    assert Decision.objects.get(job=scene.waits, superseded_at=None).constraint == marks[0][2]
    assert "short" in words_of(text)


def test_the_ways_out_come_as_a_part_of_their_own(scene, owner):
    page = owner.get(f"/jobs/{scene.waits.pk}/").content.decode()
    assert "What would unblock it" in page and "Planning the cluster anew" in page
    part = owner.get(f"/jobs/{scene.waits.pk}/?partial=unblock").content.decode()
    assert 'class="ways"' in part or "No single change was found" in part


def test_a_decision_has_a_permalink_that_stays_as_it_was(scene, owner):
    first = Decision.objects.get(job=scene.waits, superseded_at=None)
    address = f"/jobs/{scene.waits.pk}/?decision={first.pk}"
    before = words_of(owner.get(address).content.decode())
    assert "Why it waited then" in before
    scene.tiny.advance(1800)
    assert owner.get(f"/jobs/{scene.waits.pk}/?decision=999999").status_code == 404
    assert "Why it waited then" in words_of(owner.get(address).content.decode())


def test_a_forecast_is_told_and_its_absence_is_left_blank(scene, owner):
    address = f"/jobs/{scene.waits.pk}/?partial=state"
    assert "not foreseen" in owner.get(address).content.decode()
    later = scene.tiny.now + (scene.tiny.now - scene.waits.queued_at) * 10
    Forecast.objects.update_or_create(
        job=scene.waits,
        defaults={"median_at": later, "p90_at": later, "samples": 8, "computed_at": scene.tiny.now},
    )
    told = words_of(owner.get(address).content.decode())
    assert "expected start (median)" in told and "90 % by" in told


def test_a_running_job_shows_where_its_gang_sits(scene, owner):
    text = words_of(owner.get(f"/jobs/{scene.theirs.pk}/").content.decode())
    assert "Where it sits" in text and "5 nodes in" in text
    assert "running as run 1" in text


def test_both_sides_of_a_preemption_get_a_receipt(scene, owner):
    urgent = scene.tiny.submit(scene.two.vision, gpus=16, tier="production", name="urgent")
    scene.tiny.advance(600, every_s=60)
    victim_page = words_of(owner.get(f"/jobs/{scene.theirs.pk}/").content.decode())
    urgent_page = words_of(owner.get(f"/jobs/{urgent.pk}/").content.decode())
    assert "gave way" in victim_page and f"urgent ({urgent.pk})" in victim_page
    assert "Made room" in urgent_page and "GPU-h" in urgent_page


@pytest.mark.parametrize("role", ["viewer", "researcher", "tenant_admin"])
def test_strangers_see_numbers_and_no_names(scene, role):
    client = scene.client(role)
    for address in (f"/jobs/{scene.theirs.pk}/", f"/jobs/{scene.their_wait.pk}/"):
        text = client.get(address).content.decode()
        assert "Numbers only" in text and "GPUs" in text
        for secret in ("their-secret-run", "their-wait", "calls", "root-of-tiny"):
            assert secret not in text
        assert "Decisions</h2>" not in text and "Log</h2>" not in text
        assert f'data-live-topics="job:{scene.theirs.pk}' not in text


def test_a_strangers_permalink_and_hints_tell_nothing(scene):
    client = scene.client("viewer")
    decision = Decision.objects.get(job=scene.their_wait, superseded_at=None)
    assert client.get(f"/jobs/{scene.their_wait.pk}/?decision={decision.pk}").status_code == 404
    assert 'class="ways"' not in client.get(f"/jobs/{scene.their_wait.pk}/?partial=unblock").content.decode()
    for part in ("why", "history", "log"):
        text = client.get(f"/jobs/{scene.their_wait.pk}/?partial={part}").content.decode()
        assert "their-wait" not in text


def test_actions_are_offered_only_to_who_may(scene):
    assert "Cancel…" in scene.client("researcher").get(f"/jobs/{scene.waits.pk}/").content.decode()
    assert "Cancel…" not in scene.client("release_owner").get(f"/jobs/{scene.waits.pk}/").content.decode()
    assert "Cancel…" not in scene.client("viewer").get(f"/jobs/{scene.waits.pk}/").content.decode()
