"""Cluster descriptions: what they mean, and every way in which they can be wrong."""

from pathlib import Path

import pytest

from cluster.imports.cluster_schema import PolicyEntry
from cluster.imports.loader import load_cluster
from cluster.scheduler.policy import Policy
from tests.imports.descriptions import VALID, load, refusals, spoilt

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_nodes_are_shared_out_over_racks_and_stacked():
    nodes = load(VALID).description.nodes

    assert [(n.name, n.pod, n.block, n.rack, n.rack_unit) for n in nodes] == [
        ("n1", "p1", "b1", "r1", 1),
        ("n2", "p1", "b1", "r1", 9),
        ("n3", "p1", "b1", "r2", 1),
        ("n4", "p1", "b1", "r2", 9),
        ("m1", "p2", "b2", "r9", 1),
    ]
    assert load(VALID).description.installed_gpus() == {"h100": 32, "a100": 4}


def test_what_is_left_out_is_unknown_or_unlimited():
    description = load(VALID).description
    a100 = description.gpu_models[1]
    vision = next(tenant for tenant in description.tenants if tenant.name == "vision")

    assert (a100.idle_w, a100.expected_w, a100.memory_gb) == (None, None, None)
    assert str(a100.usd_per_gpu_hour) == "2"
    assert description.racks[0].power_limit_w is None
    assert (vision.lending_limit, vision.borrowing_limit) == ({}, {})


def test_racks_of_a_range_stand_side_by_side():
    racks = load(VALID).description.racks

    assert [(rack.name, rack.row, rack.position) for rack in racks] == [
        ("r1", "A", 3),
        ("r2", "A", 4),
        ("r9", "", 0),
    ]


def test_tenants_stand_after_their_parents_however_they_are_written():
    text = spoilt(
        "  - name: science\n", "  - name: late\n    parent: top\n  - name: top\n  - name: science\n"
    )

    names = [tenant.name for tenant in load(text).description.tenants]

    assert names.index("top") < names.index("late")
    assert names.index("org") < names.index("vision")


def test_the_example_is_valid_and_without_warnings():
    loaded = load_cluster(EXAMPLES / "cluster.yaml")

    assert loaded.warnings == []
    assert loaded.description.installed_gpus() == {"h100": 128, "a100": 32}
    assert loaded.description.policy == {
        "reserve_after_s": 300,
        "max_grace_s": 600,
        "failure_states": ["feed_lost", "cooling_unit_lost"],
    }


def test_the_policy_keys_are_those_of_the_scheduler():
    assert set(PolicyEntry.model_fields) == set(Policy.__dataclass_fields__)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("name: a100", "name: h100", "gpu_models[1].name: there is already a GPU model 'h100' in line 3"),
        ("{name: r9}", "{name: r2}", "racks[1].name: there is already a rack 'r2'"),
        ("name: p2", "name: p1", "pods[1].name: there is already a pod 'p1' in line 12"),
        ("name: b2", "name: b1", "pods[1].blocks[0].name: there is already a block 'b1'"),
        ("{name: m1,", "{name: n3,", "pods[1].blocks[0].nodes[0].name: there is already a node 'n3'"),
        ("name: science", "name: vision", "tenants[1].name: there is already a tenant 'vision'"),
        ("gpu_model: a100", "gpu_model: b200", "there is no GPU model 'b200'; allowed: h100, a100"),
        (
            "{a100: 4}",
            "{v100: 4}",
            "tenants[1].entitlement.v100: there is no GPU model 'v100'; allowed: h100, a100",
        ),
        ("rack: r9", "rack: r8", "there is no rack 'r8'; allowed: r1, r2, r9"),
        ('rack: "r[1-2]"', 'rack: "r[1-2,9,10,11]"', "5 racks for 4 nodes"),
        (
            "maximum_w: 700",
            "maximum_w: 500",
            "gpu_models[0].maximum_w: 500 W is less than expected_w (600 W)",
        ),
        (
            "{role: cluster_owner}",
            "{role: viewer, tenant: x}",
            "users[0].roles[0].tenant: there is no tenant 'x'",
        ),
        (
            "  - name: science",
            "  - name: science\n    parent: x",
            "tenants[1].parent: there is no tenant 'x'",
        ),
        (
            "  - name: org",
            "  - name: org\n    parent: vision",
            "'org' would stand above itself: org → vision → org",
        ),
        (
            "      - name: speech",
            "      - name: speech\n        parent: science",
            "names 'science' as its parent",
        ),
        (
            "entitlement: {h100: 8}",
            "entitlement: {h100: 9}",
            "tenants[0].entitlement.h100: the tenants below 'org' are entitled to "
            "16 (vision) + 9 (speech) = 25 h100, more than its own 24",
        ),
    ],
)
def test_what_does_not_hang_together_is_refused(old, new, expected):
    found = refusals(spoilt(old, new))

    assert any(expected in text for text in found), found
    assert all(text.startswith("cluster.yaml:") for text in found)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("gpus: 8", "gpus: eight", "nodes[0].gpus: 'eight' is not allowed; allowed: a whole number"),
        ("gpus: 8", "gpus: 8.5", "8.5 is not allowed; allowed: a whole number"),
        ("gpus: 8", 'gpus: "8"', "'8' is not allowed; allowed: a whole number"),
        ("gpus: 8", "gpus: true", "True is not allowed; allowed: a whole number"),
        ("gpus: 8", "gpus: 0", "0 is not allowed; allowed: 1 or more"),
        ("gpus: 8, ", "", "nodes[0].gpus: is missing"),
        ("gpus: 8", "gpu: 8, gpus: 8", "nodes[0].gpu: unknown key; allowed: name, gpu_model, gpus, rack"),
        (
            "  - name: science",
            "  - name: Science",
            "tenants[1].name: 'Science' is not allowed; allowed: lower-case",
        ),
        ("idle_w: 70", "idle_w: 70\n    usd_per_gpu_hour: two", "'two' is not allowed; allowed: a number"),
        ("idle_w: 70", "idle_w: 70\n    usd_per_gpu_hour: 1.23456", "at most 4 digits after the point"),
        ("role: cluster_owner", "role: king", "'king' is not allowed; allowed: cluster_owner, tenant_admin"),
        ("name: olga", "name: olga\n    time_zone: Mars", "'Mars' is not a time zone"),
        ("name: olga", "name: olga\n    email: olga", "allowed: an address such as"),
        ("name: olga", "name: ol ga", "allowed: letters, digits and @"),
        ('name: "n[1-4]"', 'name: "n[4-1]"', "the range 4-1 in 'n[4-1]' goes backwards"),
        (
            "users:",
            "policy: {queueing: fast}\nusers:",
            "policy.queueing: 'fast' is not allowed; allowed: lockstep",
        ),
        ("users:", "policy: {fairness: 1}\nusers:", "policy.fairness: unknown key; allowed: queueing"),
        ("users:", "people: []\nusers:", "people: unknown key; allowed: name, gpu_models"),
    ],
)
def test_faults_of_form_are_named_in_plain_words(old, new, expected):
    found = refusals(spoilt(old, new))

    assert any(expected in text for text in found), found


def test_all_faults_are_found_at_once_with_their_lines():
    text = (
        spoilt("gpus: 8", "gpus: eight").replace("name: science", "name: Science").replace("row: A", "raw: A")
    )

    found = refusals(text)

    assert len(found) == 3
    assert [int(text.split(":")[1]) for text in found] == [9, 16, 30]


def test_promising_more_than_is_installed_is_a_warning():
    loaded = load(spoilt("entitlement: {h100: 24}", "entitlement: {h100: 40}"))

    assert [str(w) for w in loaded.warnings] == [
        "cluster.yaml:22: tenants: warning: entitlements come to 40 h100, but 32 are installed: "
        "not all can be had at once"
    ]


def test_a_model_without_nodes_is_a_warning():
    loaded = load(spoilt("  - name: a100", "  - name: a100\n  - name: b200"))

    assert "no node has GPUs of the model 'b200'" in str(loaded.warnings[0])
