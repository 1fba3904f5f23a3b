"""Capacity now and before, its ratios with their denominators, loans, tenants, reservations and receipts."""

from decimal import Decimal

import pytest

from cluster.selectors.placeable import fits, free_nodes
from tests.api.conftest import rows


@pytest.fixture
def client(busy, client_of):
    return client_of(busy.people["viewer"])


@pytest.fixture
def pressed(two_tenants, client_of):
    """Speech borrowed 16 of vision's GPUs, and vision calls them back for a production gang."""
    tiny = two_tenants.tiny
    loan = tiny.running(
        two_tenants.speech, gpus=48, tier="best_effort", grace_s=300, checkpoint_interval_s=60
    )
    wish = tiny.submit(two_tenants.vision, gpus=32, tier="production")
    return two_tenants, loan, wish, client_of(two_tenants.people["viewer"])


def test_eight_states_sum_to_the_installed_gpus(client):
    now = client.get("/api/v1/capacity/").json()
    by_state = {row["state"]: row["gpus"] for row in now["states"]}
    assert len(by_state) == 8 and sum(by_state.values()) == now["installed"] == 64
    assert (by_state["busy"], by_state["unavailable"], by_state["placeable"]) == (48, 8, 8)
    assert sum(row["share_of_installed"] for row in now["states"]) == pytest.approx(1)
    assert sum(Decimal(row["usd_per_hour"]) for row in now["states"]) == 128
    assert now["as_of"] == "2026-03-02T08:22:00Z" and now["tick"] == 6


def test_every_ratio_states_its_denominator(client):
    now = client.get("/api/v1/capacity/").json()
    ratios = {row["name"]: row for row in now["ratios"]}
    assert set(ratios) == {"busy_of_installed", "busy_of_eligible", "busy_of_allocated"}
    for row in ratios.values():
        assert row["value"] == pytest.approx(row["numerator_gpus"] / row["denominator_gpus"])
        assert row["denominator"]
    assert [ratios[name]["denominator_gpus"] for name in sorted(ratios)] == [48, 56, 64]


def test_waste_is_priced(two_tenants, client_of):
    tiny = two_tenants.tiny
    tiny.running(two_tenants.vision, gpus=16, workload={"idle_from": 0.0, "idle_to": 1.0})
    waste = client_of(two_tenants.people["viewer"]).get("/api/v1/capacity/").json()["waste"]
    assert waste == {"gpus": 16, "usd_per_hour": "32.0000", "states": ["idle_allocated", "stranded"]}


def test_ratios_of_nothing_are_unknown_not_zero(db, client_of, two_tenants):
    now = client_of(two_tenants.people["viewer"]).get("/api/v1/capacity/").json()
    assert {row["value"] for row in now["ratios"]} == {None}
    assert (now["as_of"], now["is_stale"]) == (None, True), "there was no tick yet"


def test_placeable_answers_for_a_named_shape(client):
    fit = rows(client.get("/api/v1/capacity/placeable/?gpus=8&gpu_model=H100"))
    assert [(row["gpus"], row["gangs_anywhere"], row["gangs_in_one_block"]) for row in fit] == [(8, 1, 1)]
    assert rows(client.get("/api/v1/capacity/placeable/?gpus=16"))[0]["gangs_anywhere"] == 0
    assert [row["gpus"] for row in rows(client.get("/api/v1/capacity/placeable/"))] == [8, 64, 256]


@pytest.mark.parametrize("gpus", [1, 3, 4, 5, 8, 12, 16, 20, 32])
def test_as_many_gangs_fit_as_the_planner_then_starts(tiny, gpus):
    """The answer for a shape is what happens when so many of it are submitted, and one more."""
    tenant = tiny.tenant("alone", gpus=64)
    for size in (3, 6, 8):
        tiny.submit(tenant, gpus=size, expected_duration_s=100_000)
    tiny.tick()
    (fit,) = fits(free_nodes(), (gpus,))
    asked = [tiny.submit(tenant, gpus=gpus, tier="production") for _ in range(fit.anywhere + 1)]
    tiny.tick()
    assert sum(tiny.fresh(job).state == "active" for job in asked) == fit.anywhere


@pytest.mark.parametrize(
    ("query", "field"), [("gpus=0", "gpus"), ("gpus=x", "gpus"), ("gpu_model=B9", "gpu_model")]
)
def test_a_shape_that_is_none_is_refused(two_tenants, client_of, query, field):
    answer = client_of(two_tenants.people["viewer"]).get(f"/api/v1/capacity/placeable/?{query}")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, field)


def test_history_is_intervals_that_cover_the_window(client):
    found = rows(client.get("/api/v1/capacity/history/?from=2026-03-02T08:05:00Z&to=2026-03-02T08:06:00Z"))
    assert sum(row["gpus"] for row in found) == 64
    assert {row["state"] for row in found} == {"busy", "placeable", "unavailable"}
    only = rows(client.get("/api/v1/capacity/history/?state=busy&tenant=speech&open=true"))
    assert [(row["gpus"], row["tenant"]) for row in only] == [(16, "speech")]


def test_averages_sum_to_the_installed_gpus_at_each_step(client):
    found = client.get("/api/v1/capacity/averages/?steps=11").json()
    assert len(found["starts"]) == 11 and found["step_s"] == pytest.approx(120)
    assert [sum(step) for step in zip(*found["gpus"].values(), strict=True)] == pytest.approx([64] * 11)


def test_tenants_stand_in_their_tree(client):
    found = {row["name"]: row for row in rows(client.get("/api/v1/tenants/"))}
    assert (found["vision"]["parent"], found["vision"]["depth"], found["lab"]["is_group"]) == ("lab", 1, True)
    line = found["vision"]["models"][0]
    assert (line["entitled_gpus"], line["used_gpus"], line["waiting_gpus"]) == (32, 32, 48)
    assert found["lab"]["models"][0]["used_gpus"] == 48
    assert client.get("/api/v1/tenants/vision/").json() == found["vision"]
    assert client.get("/api/v1/tenants/nobody/").status_code == 404


def test_loans_name_both_sides_and_the_bound(pressed):
    scene, _, _, client = pressed
    loans = client.get("/api/v1/loans/").json()
    assert (loans["gpus"], loans["back_within_s"]) == (16, 300.0)
    assert [(row["tenant"], row["gpus"]) for row in loans["borrowers"]] == [("speech", 16)]
    assert [(row["tenant"], row["lent_gpus"]) for row in loans["lenders"]] == [("vision", 16)]
    scene.tiny.tick()
    called = client.get("/api/v1/loans/").json()["borrowers"][0]
    assert called["called_back_gpus"] == 16 and called["back_by"] is not None
    assert rows(client.get("/api/v1/loans/borrowers/"))[0] == called


def test_a_receipt_tells_both_sides(pressed):
    scene, loan, wish, client = pressed
    scene.tiny.tick()
    receipt = rows(client.get("/api/v1/preemptions/"))[0]
    assert (receipt["victim_job"], receipt["by_job"]) == (loan.pk, wish.pk)
    assert (receipt["victim_tenant"], receipt["by_tenant"], receipt["rule"]) == (
        "speech",
        "vision",
        "reclaim",
    )
    assert (receipt["ended_at"], receipt["lost_gpu_hours"]) == (None, None), "not known before it has ended"
    scene.tiny.advance(600, every_s=100)
    after = client.get(f"/api/v1/preemptions/{receipt['id']}/").json()
    assert after["ended_at"] and after["lost_gpu_hours"] > 0
    assert [row["id"] for row in rows(client.get(f"/api/v1/preemptions/?by_job={wish.pk}"))] == [
        receipt["id"]
    ]


def test_a_reservation_names_its_nodes_and_its_bound(pressed):
    scene, _, wish, client = pressed
    scene.tiny.tick()
    found = rows(client.get("/api/v1/reservations/?open=true"))[0]
    assert (found["job"], found["why"], found["tenant"]) == (wish.pk, "draining", "vision")
    assert sum(node["gpus_on_node"] for node in found["nodes"]) == 32
    assert found["ready_at"] is not None
    text = client.get("/api/v1/reservations.csv").getvalue().decode()
    assert len(text.splitlines()) == 1 + len(found["nodes"])


def test_nodes_show_their_place_state_and_slots(busy, client_of):
    client = client_of(busy.people["release_owner"])
    node = client.get("/api/v1/nodes/p1b1n1/").json()
    assert (node["pod"], node["block"], node["rack"], node["gpus"], node["gpus_held"]) == (
        *("p1", "p1b1", "p1b1-rack"),
        *(8, 8),
    )
    assert [slot["index"] for slot in node["slots"]] == list(range(8))
    assert {slot["job"] for slot in node["slots"]} == {busy.running.pk}
    drained = rows(client.get("/api/v1/nodes/?drained=true"))
    assert [(row["name"], row["drain_reason"], row["takes_work"]) for row in drained] == [
        ("p2b2n2", "fan noise", False)
    ]
    again = client.post("/api/v1/nodes/p2b2n2/drain/", {"reason": "once more"})
    assert (again.status_code, "drained already" in again.json()["detail"]) == (409, True)
    assert client.post("/api/v1/nodes/p2b2n2/resume/").json()["takes_work"] is True


def test_a_lost_node_leaves_evidence(busy, client_of):
    tiny = busy.scene.tiny
    tiny.lose("p1b1n1")
    tiny.advance(60)
    found = rows(client_of(busy.people["viewer"]).get("/api/v1/nodes/p1b1n1/evidence/"))
    assert [row["kind"] for row in found] == ["node_lost"]


def test_gpu_models_and_places_count_what_is_installed(client):
    model = client.get("/api/v1/gpu-models/H100/").json()
    assert (model["nodes"], model["gpus_installed"], model["gpus_eligible"], model["gpus_per_node_max"]) == (
        *(8, 64),
        *(56, 8),
    )
    assert client.get("/api/v1/pods/p1/").json() == {"name": "p1", "blocks": 2, "nodes": 4, "gpus": 32}
    assert [row["name"] for row in rows(client.get("/api/v1/blocks/?pod=p2"))] == ["p2b1", "p2b2"]
    assert client.get("/api/v1/racks/p1b1-rack/").json()["gpus"] == 16


def test_the_policy_in_force_is_whole(client):
    found = client.get("/api/v1/policy/current/").json()
    assert found["number"] is None, "none was published"
    assert found["settings"]["max_grace_s"] == 600.0 and found["settings"]["queueing"] == "lockstep"
