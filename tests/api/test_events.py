"""The event log is followed by its cursor: nothing is missed, nothing is told twice."""

import csv
import io

import pytest

from tests.api.conftest import rows


@pytest.fixture
def client(busy, client_of):
    return client_of(busy.people["cluster_owner"])


def test_following_tells_every_event_once_and_in_order(client):
    seen, after = [], 0
    while True:
        answer = client.get(f"/api/v1/events/?after={after}&limit=4").json()
        seen += [row["id"] for row in answer["results"]]
        after = answer["next_after"]
        if not answer["has_more"]:
            break
    everything = [row["id"] for row in rows(client.get("/api/v1/events/?after=0&limit=1000"))]
    assert seen == everything == sorted(set(everything)) and len(seen) > 10


def test_without_a_cursor_the_newest_come_and_the_way_on(busy, client):
    answer = client.get("/api/v1/events/?limit=2").json()
    assert [row["kind"] for row in answer["results"]][-1] == "capacity"
    assert client.get(f"/api/v1/events/?after={answer['next_after']}").json()["results"] == []
    job = busy.scene.tiny.submit(busy.scene.speech)
    later = client.get(f"/api/v1/events/?after={answer['next_after']}").json()
    assert [(row["kind"], row["job"]) for row in later["results"]] == [("job.submitted", job.pk)]


def test_a_filter_moves_the_cursor_on_over_what_it_leaves_out(client):
    answer = client.get("/api/v1/events/?after=0&kind=node.drain").json()
    newest = client.get("/api/v1/events/?limit=1").json()["next_after"]
    assert len(answer["results"]) == 1 and answer["next_after"] == newest


FILTERS = {
    "kind=node.": {"node.drain"},
    "kind=job.running": {"job.running"},
    "node=p2b2n2": {"node.drain"},
    "tenant=speech": {"job.submitted", "job.started", "job.running"},
}


def test_filters(client):
    found = {query: rows(client.get(f"/api/v1/events/?after=0&{query}")) for query in FILTERS}
    assert {query: {row["kind"] for row in each} for query, each in found.items()} == FILTERS


def test_events_of_one_job(busy, client):
    found = rows(client.get(f"/api/v1/jobs/{busy.waiting.pk}/events/?after=0"))
    assert {row["job"] for row in found} == {busy.waiting.pk}
    assert found[0]["kind"] == "job.submitted"


def test_csv_holds_all_from_the_cursor_on(client):
    everything = rows(client.get("/api/v1/events/?after=0&limit=1000"))
    text = client.get(f"/api/v1/events.csv?after={everything[3]['id']}&limit=1").getvalue().decode()
    assert [int(row["id"]) for row in csv.DictReader(io.StringIO(text))] == [
        row["id"] for row in everything[4:]
    ]


@pytest.mark.parametrize(
    "query", ["after=-1", "after=x", "after=99999999999999999999", "limit=0", "limit=1001"]
)
def test_a_cursor_that_cannot_be_is_refused(two_tenants, client_of, query):
    client = client_of(two_tenants.people["viewer"])
    assert client.get(f"/api/v1/events/?{query}").status_code == 400
