"""A tiny cluster for tests: real rows, real services and the real control loop, on a clock that stands still.

    tiny = TinyCluster()                          # 2 pods × 2 blocks × 2 nodes × 8 GPUs = 64 H100
    vision = tiny.tenant("vision", gpus=32)
    job = tiny.submit(vision, gpus=16)
    tiny.advance(120)                             # two minutes later, one tick
    assert tiny.fresh(job).state == "active"

Nothing here is random: a gang starts up within 45 seconds, and no node fails unless `lose` says so.
The fixtures `tiny` and `two_tenants` give one of these.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from django.db.models import Model
from django.utils import timezone

from cluster.engines.simulated import lose_node
from cluster.models import Job, Run, RunState, SimulatedClock, Tick
from cluster.pipeline.loop import step
from cluster.services.submit_job import submit_job
from fabric.models import Block, Pod, Rack
from fleet.models import Gpu, GpuModel, Node
from tenancy.models import Entitlement, Membership, Role, Tenant, User

T0 = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
"""When every tiny cluster begins, on the engine's clock."""
MODEL = "H100"
CLUSTER_WIDE = (Role.CLUSTER_OWNER, Role.RELEASE_OWNER, Role.VIEWER)

Row = TypeVar("Row", bound=Model)


class TinyCluster:
    """Pods p1…, blocks p1b1… with a rack each, nodes p1b1n1…; one engine clock that moves when told to."""

    def __init__(
        self, *, pods: int = 2, blocks: int = 2, nodes: int = 2, gpus: int = 8, model: str = MODEL
    ) -> None:
        """`blocks` of each pod, `nodes` of each block, `gpus` of each node."""
        self.now = T0
        self._pin()
        self.model = GpuModel.objects.create(name=model, memory_gb=80, idle_w=80, expected_w=600)
        for p in range(1, pods + 1):
            pod = Pod.objects.create(name=f"p{p}")
            for b in range(1, blocks + 1):
                self.block(f"p{p}b{b}", pod, nodes=nodes, gpus=gpus, model=self.model)
        self.owner = self.user(Role.CLUSTER_OWNER, name="root-of-tiny")
        """Submits what no other user is named for."""

    # what stands in it

    def block(self, name: str, pod: Pod, *, nodes: int, gpus: int, model: GpuModel) -> Block:
        """A block with a rack and nodes of its own; for a second GPU model, call it by hand."""
        block, rack = Block.objects.create(name=name, pod=pod), Rack.objects.create(name=f"{name}-rack")
        for n in range(1, nodes + 1):
            node = Node.objects.create(
                name=f"{name}n{n}",
                gpu_model=model,
                block=block,
                rack=rack,
                rack_unit=n,
                state_since=self.now,
            )
            Gpu.objects.bulk_create(Gpu(node=node, index=i) for i in range(gpus))
        return block

    def tenant(
        self, name: str, *, gpus: int | None = None, parent: Tenant | None = None, **limits: Any
    ) -> Tenant:
        """A tenant; with `gpus` entitled to so many. `limits`: weight, lending_limit, borrowing_limit."""
        tenant = Tenant.objects.create(name=name, parent=parent, weight=limits.pop("weight", 1.0))
        if gpus is not None:
            Entitlement.objects.create(tenant=tenant, gpu_model=self.model.name, gpus=gpus, **limits)
        return tenant

    def user(self, role: Role, tenant: Tenant | None = None, *, name: str = "") -> User:
        """A user with one role, cluster-wide or in a tenant."""
        user = User.objects.create_user(
            username=name or f"{role.value}-of-{tenant or 'all'}", password="pass"
        )
        Membership.objects.create(user=user, role=role, tenant=tenant)
        return user

    def people(self, tenant: Tenant) -> dict[str, User]:
        """One user of every role, by the role's name; tenant admin and researcher belong to this tenant."""
        return {
            role.value: self.user(role, None if role in CLUSTER_WIDE else tenant, name=role.value)
            for role in Role
        }

    # what happens in it

    def submit(self, tenant: Tenant, *, gpus: int = 8, by: User | None = None, **fields: Any) -> Job:
        """A job through the real service. It starts within 45 s and works for `expected_duration_s` (1 h)."""
        workload = {"never_ready": 0.0, "start_s": 45.0, **fields.pop("workload", {})}
        asked: dict[str, Any] = {"name": f"job-of-{tenant}", "expected_duration_s": 3600, **fields}
        return submit_job(by=by or self.owner, tenant=tenant, gpus=gpus, workload=workload, **asked)

    def tick(self) -> Tick:
        """One tick of the real loop, without moving the clock."""
        tick = step(self.now)
        assert tick is not None, "another holder has the tick lease"
        return tick

    def advance(self, seconds: float, *, every_s: float | None = None) -> Tick:
        """Move the clock and tick: once at the end, or every so many seconds. Gives the last tick."""
        end = self.now + timedelta(seconds=seconds)
        pace = timedelta(seconds=every_s or seconds)
        while self.now < end:
            self.now = min(end, self.now + pace)
            self._pin()
            tick = self.tick()
        return tick

    def run_of(self, job: Job) -> Run:
        """The open run of a job."""
        return Run.objects.exclude(state=RunState.ENDED).get(job=job)

    def running(self, tenant: Tenant, **fields: Any) -> Job:
        """A job that is submitted, started and ready; two minutes pass."""
        job = self.submit(tenant, **fields)
        self.tick()
        self.advance(120)
        assert self.run_of(job).state == RunState.RUNNING, "it did not start: is there room?"
        return self.fresh(job)

    def lose(self, node: str, *, repair_s: float = 3600.0) -> None:
        """Lose a node now; the next tick will notice."""
        lose_node(node, repair_s=repair_s)

    @staticmethod
    def fresh(row: Row) -> Row:
        """The row as it stands in the database now."""
        row.refresh_from_db()
        return row

    def _pin(self) -> None:
        standing = {"virtual_epoch": self.now, "wall_epoch": timezone.now(), "speed": 0.0}
        SimulatedClock.objects.update_or_create(
            name="clock", defaults={**standing, "node_failures_per_1000_days": 0.0}
        )


@dataclass(frozen=True)
class TwoTenants:
    """The usual scene: two teams of one organisation share 64 GPUs; one user of every role, in `vision`."""

    tiny: TinyCluster
    organisation: Tenant
    vision: Tenant
    speech: Tenant
    people: dict[str, User]

    @classmethod
    def build(cls) -> "TwoTenants":
        tiny = TinyCluster()
        organisation = tiny.tenant("lab")
        vision = tiny.tenant("vision", gpus=32, parent=organisation)
        speech = tiny.tenant("speech", gpus=32, parent=organisation)
        return cls(tiny, organisation, vision, speech, tiny.people(vision))
