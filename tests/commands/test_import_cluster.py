"""manage.py import_cluster: all or nothing, twice the same is nothing, and no node vanishes under work."""

from datetime import UTC, datetime
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from cluster.models import Allocation, Event, Job, Run
from fabric.models import Block, Pod, Rack
from fleet.models import Gpu, GpuModel, Node, NodeState
from tenancy.models import Entitlement, Membership, PolicyVersion, Tenant, User
from tests.commands.files import EXAMPLES, example_with

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 3, 1, 8, tzinfo=UTC)


def run_import(path=EXAMPLES / "cluster.yaml", **options):
    out = StringIO()
    call_command("import_cluster", str(path), stdout=out, stderr=out, **options)
    return out.getvalue()


def run_on(node_name, released=False):
    """A run that holds all GPUs of a node."""
    node = Node.objects.get(name=node_name)
    owner = User.objects.get(username="rita")
    job = Job.objects.create(
        name="j",
        tenant=Tenant.objects.get(name="vision"),
        owner=owner,
        tier="research",
        gpus=8,
        gpu_model=node.gpu_model,
        expected_duration_s=60,
        submitted_at=NOW,
        queued_at=NOW,
    )
    run = Run.objects.create(job=job, number=1, planned_at=NOW)
    for gpu in node.gpus.all():
        Allocation.objects.create(
            run=run, gpu=gpu, node=node, started_at=NOW, released_at=NOW if released else None
        )
    return job


def everything():
    return {
        model.__name__: list(model.objects.order_by("pk").values())
        for model in (
            Pod,
            Block,
            Rack,
            GpuModel,
            Node,
            Gpu,
            Tenant,
            Entitlement,
            Membership,
            User,
            PolicyVersion,
        )
    }


def test_the_example_becomes_rows():
    out = run_import()

    assert "created: 20 × node" in out
    assert Node.objects.count() == 20
    assert Gpu.objects.count() == 160
    node = Node.objects.select_related("block__pod", "rack", "gpu_model").get(name="gpu006")
    assert (node.block.name, node.block.pod.name, node.rack.name, node.rack_unit) == (
        "block-1",
        "pod-1",
        "r02",
        9,
    )
    assert (node.base_w, node.state, node.gpu_model.name) == (3500, NodeState.ELIGIBLE, "h100")
    assert Tenant.objects.get(name="speech").parent.name == "perception"
    limits = Entitlement.objects.get(tenant__name="speech", gpu_model="h100")
    assert (limits.gpus, limits.lending_limit, limits.borrowing_limit) == (32, None, 32)
    assert PolicyVersion.objects.get().settings == {
        "reserve_after_s": 300,
        "max_grace_s": 600,
        "failure_states": ["feed_lost", "cooling_unit_lost"],
    }


def test_people_get_their_roles_and_no_password():
    run_import()

    olga = User.objects.get(username="olga")
    assert (olga.get_full_name(), olga.email, olga.time_zone) == (
        "Olga Owner",
        "olga@example.org",
        "Europe/Berlin",
    )
    assert not olga.has_usable_password()
    roles = Membership.objects.values_list("user__username", "role", "tenant__name")
    assert set(roles) == {
        ("olga", "cluster_owner", None),
        ("victor", "tenant_admin", "perception"),
        ("rita", "researcher", "vision"),
        ("rita", "researcher", "science"),
    }


def test_the_same_file_twice_changes_nothing():
    run_import()
    before = everything()
    events = Event.objects.count()

    out = run_import()

    assert "nothing to change" in out
    assert everything() == before
    assert Event.objects.count() == events


def test_a_dry_run_shows_the_changes_and_makes_none():
    out = run_import(dry_run=True)

    assert "would be created: 20 × node" in out
    assert not Node.objects.exists() and not Event.objects.exists() and not PolicyVersion.objects.exists()


def test_what_differs_is_changed_and_named(tmp_path):
    run_import()
    path = example_with(
        tmp_path,
        ("power_limit_w: 44000", "power_limit_w: 40000"),
        ("entitlement: {h100: 64, a100: 16}", "entitlement: {h100: 56}"),
        ("lending_limit: {h100: 32}", "lending_limit: {}"),
        ("      - {role: researcher, tenant: science}\n", ""),
        ("reserve_after_s: 300", "reserve_after_s: 120"),
    )

    out = run_import(path)

    assert "changed: rack r01: power_limit_w 44000 → 40000" in out
    assert "changed: entitlement vision h100: gpus 64 → 56" in out
    assert "changed: entitlement vision h100: lending_limit 32 → unlimited" in out
    assert "removed: 1 × entitlement: vision a100" in out
    assert "removed: 1 × role: rita: researcher of science" in out
    assert PolicyVersion.objects.count() == 2
    assert Entitlement.objects.get(tenant__name="vision").lending_limit is None


def test_a_refused_file_leaves_no_trace(tmp_path):
    path = example_with(
        tmp_path, ("gpus: 8              # on each node", "gpus: many"), ("name: science", "name: S")
    )

    with pytest.raises(CommandError) as refused:
        run_import(path)

    assert "nothing was imported" in str(refused.value)
    assert "nodes[0].gpus: 'many' is not allowed" in str(refused.value)
    assert "tenants[1].name: 'S' is not allowed" in str(refused.value)
    assert not Node.objects.exists() and not Tenant.objects.exists()


def test_nodes_that_the_file_does_not_name_stay_unless_asked(tmp_path):
    run_import()
    path = example_with(tmp_path, ("old[1-4]", "old[1-2]"))

    out = run_import(path)

    assert "left as they are: 2 × node: old3, old4" in out
    assert Node.objects.filter(name="old4").exists()


def test_unused_nodes_are_removed_and_used_ones_taken_out_of_service(tmp_path):
    run_import()
    run_on("old4", released=True)
    path = example_with(tmp_path, ("old[1-4]", "old[1-2]"))

    out = run_import(path, remove_missing=True)

    assert "removed: 2 × node: old3, old4" in out
    assert not Node.objects.filter(name="old3").exists()
    assert Node.objects.get(name="old4").state == NodeState.NOT_ACCEPTED
    assert "nothing to change" in run_import(path, remove_missing=True)

    assert "state not_accepted → eligible" in run_import()
    assert Node.objects.get(name="old4").state == NodeState.ELIGIBLE


def test_a_node_with_running_work_is_not_removed_and_nothing_else_is_done_either(tmp_path):
    run_import()
    job = run_on("old4")
    path = example_with(tmp_path, ("old[1-4]", "old[1-2]"), ("power_limit_w: 44000", "power_limit_w: 1"))

    with pytest.raises(CommandError, match=f"node old4 would be removed while job {job.pk} runs on it"):
        run_import(path, remove_missing=True)

    assert Node.objects.filter(name="old3").exists()
    assert Rack.objects.get(name="r01").power_limit_w == 44000


def test_a_node_with_running_work_keeps_its_block(tmp_path):
    run_import()
    run_on("gpu001")
    path = example_with(tmp_path, ("name: block-1", "name: block-9"))

    with pytest.raises(CommandError, match="gpu001: block would change from block-1 to block-9"):
        run_import(path)

    assert not Block.objects.filter(name="block-9").exists()


def test_fewer_gpus_go_only_when_nothing_runs(tmp_path):
    run_import()
    fewer = example_with(tmp_path, ("gpus: 8              # on each node", "gpus: 6"))
    run_on("gpu001")

    with pytest.raises(CommandError, match="gpu001: GPUs would be removed while job"):
        run_import(fewer)

    Allocation.objects.update(released_at=NOW)
    out = run_import(fewer)
    assert "changed: node gpu001: gpus 8 → 6" in out
    assert Node.objects.get(name="gpu002").gpus.count() == 6
    # Runs name the GPUs of gpu001: they stay in the books, out of service.
    assert Node.objects.get(name="gpu001").gpus.filter(state=NodeState.ELIGIBLE).count() == 6
    assert "nothing to change" in run_import(fewer)

    run_import()
    assert Node.objects.get(name="gpu001").gpus.filter(state=NodeState.ELIGIBLE).count() == 8


def test_warnings_are_shown_and_do_not_stop(tmp_path):
    path = example_with(tmp_path, ("entitlement: {h100: 96}", "entitlement: {h100: 120}"))

    out = run_import(path)

    assert "warning: entitlements come to 152 h100, but 128 are installed" in out
    assert Node.objects.count() == 20


def test_the_import_is_told_to_the_pages():
    run_import()

    event = Event.objects.get(kind="cluster_imported")
    assert event.data["created"]["node"] == 20
    assert set(event.topics) == {"nodes", "tenants", "capacity"}
