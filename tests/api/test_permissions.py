"""Who may do what: a table of endpoint × role. The answer is a status; what is refused is not done."""

from collections.abc import Mapping
from typing import Any

import pytest
from django.db import transaction
from drf_spectacular.generators import SchemaGenerator

from cluster.models import Job
from cluster.services.drain_node import drain_node
from cluster.services.hold_job import hold_job
from fleet.models import Node
from tenancy.models import Role, User

PEOPLE = (
    "nobody",  # not signed in
    "newcomer",  # signed in, without a role
    "viewer",
    "outsider",  # a researcher of another tenant
    "colleague",  # another researcher of the same tenant
    "researcher",  # who submitted the jobs
    "tenant_admin",
    "release_owner",
    "cluster_owner",
)
READ = {"nobody": 401, "newcomer": 403}
OWN = {**READ, "viewer": 403, "outsider": 403, "colleague": 403, "release_owner": 403}
TABLE: dict[tuple[str, str], tuple[int, Mapping[str, int]]] = {
    # (method, address): (status for everybody, but for these)
    ("get", "/api/v1/jobs/"): (200, READ),
    ("get", "/api/v1/jobs/{job}/"): (200, READ),
    ("get", "/api/v1/jobs/{job}/forecast/"): (200, READ),
    ("get", "/api/v1/jobs/{job}/explain/"): (200, {**READ, "viewer": 403, "outsider": 403}),
    ("get", "/api/v1/jobs/{job}/decisions/"): (200, {**READ, "viewer": 403, "outsider": 403}),
    ("get", "/api/v1/jobs/{job}/runs/"): (200, {**READ, "viewer": 403, "outsider": 403}),
    ("get", "/api/v1/jobs/{job}/checkpoints/"): (200, {**READ, "viewer": 403, "outsider": 403}),
    ("get", "/api/v1/jobs/{job}/events/"): (200, {**READ, "viewer": 403, "outsider": 403}),
    ("post", "/api/v1/jobs/"): (201, {**OWN, "colleague": 201}),
    ("post", "/api/v1/jobs/{job}/cancel/"): (200, OWN),
    ("post", "/api/v1/jobs/{job}/hold/"): (200, OWN),
    ("post", "/api/v1/jobs/{held}/release/"): (200, OWN),
    ("get", "/api/v1/runs/"): (200, READ),
    ("get", "/api/v1/allocations/"): (200, READ),
    ("get", "/api/v1/reservations/"): (200, READ),
    ("get", "/api/v1/decisions/"): (200, READ),
    ("get", "/api/v1/preemptions/"): (200, READ),
    ("get", "/api/v1/tenants/"): (200, READ),
    ("get", "/api/v1/tenants/vision/"): (200, READ),
    ("get", "/api/v1/entitlements/"): (200, READ),
    ("get", "/api/v1/loans/"): (200, READ),
    ("get", "/api/v1/gpu-models/"): (200, READ),
    ("get", "/api/v1/nodes/"): (200, READ),
    ("get", "/api/v1/nodes/p1b1n1/"): (200, READ),
    ("get", "/api/v1/nodes/p1b1n1/evidence/"): (200, READ),
    ("post", "/api/v1/nodes/p1b1n1/drain/"): (
        403,
        {"nobody": 401, "release_owner": 200, "cluster_owner": 200},
    ),
    ("post", "/api/v1/nodes/p2b2n2/resume/"): (
        403,
        {"nobody": 401, "release_owner": 200, "cluster_owner": 200},
    ),
    ("get", "/api/v1/racks/"): (200, READ),
    ("get", "/api/v1/blocks/"): (200, READ),
    ("get", "/api/v1/pods/"): (200, READ),
    ("get", "/api/v1/capacity/"): (200, READ),
    ("get", "/api/v1/capacity/placeable/"): (200, READ),
    ("get", "/api/v1/capacity/history/"): (200, READ),
    ("get", "/api/v1/capacity/averages/"): (200, READ),
    ("get", "/api/v1/usage/"): (200, READ),
    ("get", "/api/v1/ticks/"): (200, READ),
    ("get", "/api/v1/events/"): (200, READ),
    ("get", "/api/v1/policy/"): (200, READ),
    ("get", "/api/v1/policy/current/"): (200, READ),
    ("get", "/api/v1/tokens/"): (200, {"nobody": 401}),
    ("post", "/api/v1/tokens/"): (201, {"nobody": 401}),
    ("get", "/api/schema/"): (200, {}),
    ("get", "/api/docs/"): (200, {}),
}
BODIES: dict[str, dict[str, Any]] = {
    "/api/v1/jobs/": {"tenant": "vision", "name": "new", "gpus": 8, "expected_duration_s": 60},
    "/api/v1/jobs/{job}/hold/": {"reason": "data is not ready"},
    "/api/v1/nodes/p1b1n1/drain/": {"reason": "fan noise"},
}


@pytest.fixture
def people(two_tenants) -> dict[str, User | None]:
    tiny = two_tenants.tiny
    return {
        **two_tenants.people,
        "nobody": None,
        "newcomer": User.objects.create_user("newcomer"),
        "outsider": tiny.user(Role.RESEARCHER, two_tenants.speech, name="outsider"),
        "colleague": tiny.user(Role.RESEARCHER, two_tenants.vision, name="colleague"),
    }


@pytest.fixture
def jobs(two_tenants) -> dict[str, int]:
    """A pending job and a held one, both of vision's researcher; one node is drained."""
    tiny, researcher = two_tenants.tiny, two_tenants.people["researcher"]
    held = tiny.submit(two_tenants.vision, by=researcher)
    hold_job(by=researcher, job=held, reason="not yet")
    drain_node(by=tiny.owner, node=Node.objects.get(name="p2b2n2"), reason="fan noise")
    return {"job": tiny.submit(two_tenants.vision, by=researcher).pk, "held": held.pk}


@pytest.mark.parametrize(("method", "address"), TABLE, ids=lambda part: str(part))
def test_the_table(method, address, people, jobs, client_of):
    usual, others = TABLE[method, address]
    expected = {name: others.get(name, usual) for name in PEOPLE}
    assert {name: _status(method, address, jobs, client_of(people[name])) for name in PEOPLE} == expected


def _status(method: str, address: str, jobs: Mapping[str, int], client: Any) -> int:
    """What is answered; whatever was done is undone, so that the next one finds the same."""
    body = BODIES.get(address) if method == "post" else None
    with transaction.atomic():
        answer = getattr(client, method)(address.format(**jobs), body)
        transaction.set_rollback(True)
    status: int = answer.status_code
    return status


def test_a_refused_action_changes_nothing(people, jobs, client_of):
    before = list(Job.objects.order_by("pk").values())
    for name in ("nobody", "newcomer", "viewer", "outsider", "colleague", "release_owner"):
        for action in ("cancel", "hold", "release"):
            client_of(people[name]).post(f"/api/v1/jobs/{jobs['job']}/{action}/", {"reason": "no"})
    assert list(Job.objects.order_by("pk").values()) == before


def test_what_is_not_there_is_404_for_everybody_who_may_look(people, jobs, client_of):
    for name in ("viewer", "researcher", "cluster_owner"):
        client = client_of(people[name])
        assert client.post("/api/v1/jobs/999999/cancel/").status_code == 404
        assert client.get("/api/v1/jobs/999999/explain/").status_code == 404
        assert client.get("/api/v1/nodes/nowhere/").status_code == 404
        assert client.get("/api/v1/jobs/not-a-number/").status_code == 404


def test_a_newcomer_cannot_tell_what_is_there(people, jobs, client_of):
    client = client_of(people["newcomer"])
    there, not_there = client.get(f"/api/v1/jobs/{jobs['job']}/"), client.get("/api/v1/jobs/999999/")
    assert (there.status_code, there.json()) == (not_there.status_code, not_there.json())
    assert "no role in this cluster" in there.json()["detail"]


def test_every_endpoint_is_in_the_table():
    """A new endpoint does not go without a row here. Single rows of a list are as open as their list."""
    listed = {(method, address.replace("{held}", "{job}")) for method, address in TABLE}
    found = set()
    for path, operations in SchemaGenerator().get_schema(request=None, public=True)["paths"].items():
        if path.startswith("/api/v1/") and not path.endswith("}/"):
            address = path.replace("/jobs/{id}/", "/jobs/{job}/")
            address = address.replace("{name}/resume", "p2b2n2/resume").replace("{name}", "p1b1n1")
            found |= {(method, address) for method in operations}
    assert found - listed == {("get", "/api/v1/loans/borrowers/"), ("get", "/api/v1/loans/lenders/")}
