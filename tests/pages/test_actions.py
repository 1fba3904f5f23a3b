"""Who may do what from a page: the table of roles, and what each action leaves behind."""

import pytest

from cluster.models import JobState, RunState
from fleet.models import Node
from tests.pages.conftest import ROLES

pytestmark = pytest.mark.django_db
DRAIN, OURS, THEIRS, SUBMIT = "drain", "cancel ours", "cancel theirs", "submit"
MAY = {
    "cluster_owner": {DRAIN, OURS, THEIRS, SUBMIT},
    "tenant_admin": {OURS, SUBMIT},
    "release_owner": {DRAIN},
    "researcher": {OURS, SUBMIT},  # ours is the researcher's own
    "viewer": set(),
}


def attempts(scene):
    job = {"name": "new", "tenant": "vision", "tier": "research", "kind": "training", "gpus": "8"}
    job |= {"locality_required": "cluster", "locality_preferred": "block", "expected_duration_s": "1 h"}
    return {
        DRAIN: ("/nodes/p2b1n1/drain/", {"reason": "fan"}),
        OURS: (f"/jobs/{scene.waits.pk}/cancel/", {}),
        THEIRS: (f"/jobs/{scene.their_wait.pk}/cancel/", {}),
        SUBMIT: ("/jobs/new/", job),
    }


@pytest.mark.parametrize("role", ROLES)
def test_the_table_of_roles_and_actions(scene, role):
    client, done = scene.client(role), set()
    for action, (address, fields) in attempts(scene).items():
        answer = client.post(address, fields)
        assert answer.status_code in (302, 400, 403), (action, answer.status_code)
        if answer.status_code == 302:
            done.add(action)
    assert done == MAY[role]


def test_actions_are_never_links(scene, owner):
    for address in ("/nodes/p2b1n1/drain/", f"/jobs/{scene.waits.pk}/cancel/", "/tokens/new/"):
        assert owner.get(address).status_code == 405


def test_a_drain_without_a_reason_is_refused_and_says_the_mend(scene, owner):
    answer = owner.post("/nodes/p2b1n1/drain/", {"reason": "  "})
    assert answer.status_code == 400
    assert "say why the node is drained" in answer.content.decode()
    assert Node.objects.get(name="p2b1n1").drain_asked_at is None


def test_a_node_is_drained_and_resumed_by_hand(scene, owner):
    owner.post("/nodes/p2b1n1/drain/", {"reason": "loud fan"})
    text = owner.get("/nodes/p2b1n1/").content.decode()
    assert "loud fan" in text and "Resume p2b1n1" in text
    assert owner.post("/nodes/p2b1n1/resume/").status_code == 302
    again = owner.post("/nodes/p2b1n1/resume/")
    assert again.status_code == 409
    assert "is not drained" in again.content.decode()


def test_a_job_is_held_released_and_cancelled(scene, owner):
    address = f"/jobs/{scene.waits.pk}"
    empty = owner.post(f"{address}/hold/", {"reason": ""})
    assert empty.status_code == 400 and "say why the job is held" in empty.content.decode()
    owner.post(f"{address}/hold/", {"reason": "after the demo"})
    scene.tiny.advance(60)
    assert "after the demo" in owner.get(f"{address}/").content.decode()
    assert owner.post(f"{address}/release/").status_code == 302
    assert owner.post(f"{address}/cancel/").status_code == 302
    assert scene.tiny.fresh(scene.waits).state == JobState.CANCELLED
    late = owner.post(f"{address}/cancel/")
    assert late.status_code == 409 and "nothing to cancel" in late.content.decode()


def test_cancelling_a_running_job_asks_its_run_to_stop(scene, owner):
    owner.post(f"/jobs/{scene.theirs.pk}/cancel/")
    assert scene.tiny.run_of(scene.theirs).state == RunState.STOPPING
    assert "stopping" in owner.get(f"/jobs/{scene.theirs.pk}/").content.decode()
