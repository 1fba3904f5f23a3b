"""Jobs of tenants that are not yours are numbers: nothing names them, by no way round."""

import json

import pytest

from cluster.services.cancel_job import cancel_job
from cluster.services.hold_job import hold_job
from tests.api.conftest import rows

NAMES = ("secret-voice", "whispers", "root-of-tiny", "the boss said so")


@pytest.fixture
def quiet(busy):
    """A held and a cancelled job of speech beside the running one, all full of names."""
    tiny, speech = busy.scene.tiny, busy.scene.speech
    held = tiny.submit(speech, gpus=8, name="secret-voice", dataset="whispers")
    hold_job(by=tiny.owner, job=held, reason="the boss said so")
    cancelled = tiny.submit(speech, gpus=8, name="secret-voice", code_version="whispers")
    cancel_job(by=tiny.owner, job=cancelled)
    tiny.advance(60)
    return busy


def test_numbers_are_shown_and_names_are_null(busy, client_of):
    shown = client_of(busy.people["viewer"]).get(f"/api/v1/jobs/{busy.foreign.pk}/").json()
    assert (shown["id"], shown["tenant"], shown["tier"], shown["gpus"], shown["state"]) == (
        busy.foreign.pk,
        "speech",
        "research",
        16,
        "active",
    )
    hidden = (
        "name",
        "owner",
        "dataset",
        "code_version",
        "workload",
        "hold_reason",
        "hold_by",
        "state_reason",
    )
    assert {name: shown[name] for name in hidden} == dict.fromkeys(hidden)


def test_those_who_belong_there_see_the_names(busy, client_of):
    for person in ("release_owner", "cluster_owner"):
        shown = client_of(busy.people[person]).get(f"/api/v1/jobs/{busy.foreign.pk}/").json()
        assert (shown["name"], shown["dataset"], shown["owner"]) == (
            "secret-voice",
            "whispers",
            "root-of-tiny",
        )


LISTS = ("jobs", "runs", "allocations", "decisions", "reservations", "preemptions", "capacity/history")
ADDRESSES = (
    *(f"{name}{suffix}" for name in LISTS for suffix in ("/?page_size=500", ".csv")),
    *("events/?after=0&limit=1000&tenant=speech", "events.csv?tenant=speech"),
)


def test_no_list_gives_a_name_away(quiet, client_of):
    for person in ("viewer", "researcher", "tenant_admin"):
        client = client_of(quiet.people[person])
        told = {address: _text(client.get(f"/api/v1/{address}")) for address in ADDRESSES}
        assert [(address, name) for address in ADDRESSES for name in NAMES if name in told[address]] == []


def test_a_decision_of_others_gives_its_reason_as_a_word_only(quiet, client_of):
    client = client_of(quiet.people["viewer"])
    held = next(row for row in rows(client.get("/api/v1/decisions/?constraint=admin_hold")))
    whole = client.get(f"/api/v1/decisions/{held['id']}/").json()
    assert whole["constraint"] == "admin_hold"
    assert (whole["text"], whole["verdicts"], whole["verdicts_now"]) == (None, None, None)
    assert (
        "the boss said so"
        in client_of(quiet.people["cluster_owner"]).get(f"/api/v1/decisions/{held['id']}/").json()["text"]
    )


def test_searching_by_what_is_hidden_finds_nothing(quiet, client_of):
    viewer, owner = client_of(quiet.people["viewer"]), client_of(quiet.people["cluster_owner"])
    for query in ("name=secret", "owner=root-of-tiny"):
        assert rows(viewer.get(f"/api/v1/jobs/?{query}")) == []
        assert rows(owner.get(f"/api/v1/jobs/?{query}"))


def test_no_order_sorts_by_what_is_hidden(busy, client_of):
    for name in ("name", "owner", "dataset"):
        assert client_of(busy.people["viewer"]).get(f"/api/v1/jobs/?ordering={name}").status_code == 400


def _text(answer) -> str:
    assert answer.status_code == 200, answer.content
    return answer.getvalue().decode() if answer.streaming else json.dumps(answer.json())
