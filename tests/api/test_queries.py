"""The number of queries does not grow with the number of rows."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from cluster.models import Job
from tests.api.conftest import rows

LISTS = (
    *(
        "jobs/",
        "runs/",
        "allocations/",
        "reservations/",
        "decisions/",
        "preemptions/",
        "tenants/",
        "entitlements/",
    ),
    *("loans/", "gpu-models/", "nodes/", "racks/", "blocks/", "pods/", "capacity/", "capacity/placeable/"),
    *(
        "capacity/history/",
        "usage/",
        "ticks/",
        "events/",
        "jobs.csv",
        "runs.csv",
        "decisions.csv",
        "events.csv",
    ),
)
MOST = 16  # the loans: standings of all tenants, and the times of the cluster


@pytest.fixture
def client(two_tenants, client_of):
    return client_of(two_tenants.people["researcher"])


def _count(client, address: str) -> int:
    with CaptureQueriesContext(connection) as seen:
        answer = client.get(f"/api/v1/{address}")
        assert answer.status_code == 200
        if answer.streaming:
            answer.getvalue()
    return len(seen)


def _grow(scene, jobs: int) -> None:
    for number in range(jobs):
        scene.tiny.submit(scene.vision if number % 2 else scene.speech, gpus=2 + number % 3)
    scene.tiny.tick()
    scene.tiny.advance(120)


def test_lists_take_a_constant_number_of_queries(two_tenants, client):
    _grow(two_tenants, 2)
    few = {address: _count(client, address) for address in LISTS}
    _grow(two_tenants, 16)
    many = {address: _count(client, address) for address in LISTS}
    assert many == few
    assert max(many.values()) <= MOST, many


def test_one_job_takes_few_queries(two_tenants, client):
    _grow(two_tenants, 4)
    job = rows(client.get("/api/v1/jobs/?state=active"))[0]["id"]
    for address in (f"jobs/{job}/", f"jobs/{job}/runs/", f"jobs/{job}/decisions/", f"jobs/{job}/events/"):
        assert _count(client, address) <= 10, address
    assert Job.objects.count() == 4
