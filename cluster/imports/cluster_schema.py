"""What a cluster description may hold. `examples/cluster.yaml` shows all of it with explanations."""

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field

from cluster.imports.fields import (
    Count,
    CountOrNone,
    Email,
    Entry,
    Name,
    NameRange,
    Seconds,
    Slug,
    Text,
    Usd,
    UserName,
    Watts,
    Weight,
    Word,
    Zone,
)

Role = Literal["cluster_owner", "tenant_admin", "release_owner", "researcher", "viewer"]
DEFAULT_USD_PER_GPU_HOUR = Decimal(2)


class GpuModelEntry(Entry):
    """A kind of GPU. Draws in watts; what is left out is unknown, not zero."""

    name: Word
    memory_gb: Count | None = None
    idle_w: Watts | None = None
    expected_w: Watts | None = None
    maximum_w: Watts | None = None
    usd_per_gpu_hour: Usd = DEFAULT_USD_PER_GPU_HOUR


class RackEntry(Entry):
    """One rack, or a range of them standing side by side in a row."""

    name: NameRange
    row: Annotated[str, Field(max_length=32)] = ""
    position: CountOrNone = 0
    power_limit_w: Watts | None = None


class NodesEntry(Entry):
    """One node, or a range of equal ones shared out in order over one rack or a range of racks."""

    name: NameRange
    gpu_model: Name
    gpus: Annotated[int, Field(ge=1, le=64)]
    rack: NameRange
    rack_unit: Count | None = None  # None = on top of what the rack holds already
    height_u: Annotated[int, Field(ge=1, le=60)] = 8
    base_w: Watts | None = None


class BlockEntry(Entry):
    """Nodes under one leaf switch, or in one NVLink domain."""

    name: Name
    nodes: Annotated[list[NodesEntry], Field(min_length=1)]


class PodEntry(Entry):
    """Blocks under one spine group."""

    name: Name
    blocks: Annotated[list[BlockEntry], Field(min_length=1)]


class TenantEntry(Entry):
    """An organisation or a team. It stands below another either by nesting or by `parent`."""

    name: Slug
    title: Annotated[str, Field(max_length=128)] = ""
    parent: Name | None = None
    weight: Weight = 1.0
    entitlement: dict[str, CountOrNone] = {}
    lending_limit: dict[str, CountOrNone | None] = {}
    borrowing_limit: dict[str, CountOrNone | None] = {}
    tenants: list["TenantEntry"] = []


class RoleEntry(Entry):
    """A role in one tenant and everything below it, or, without a tenant, in the whole cluster."""

    role: Role
    tenant: Name | None = None


class UserEntry(Entry):
    """A person. No password stands in a file: the owner sets it, or the person signs in through SSO."""

    name: UserName
    full_name: Annotated[str, Field(max_length=150)] = ""
    email: Email | None = None
    time_zone: Zone = "UTC"
    roles: Annotated[list[RoleEntry], Field(min_length=1)]


class PolicyEntry(Entry):
    """The scheduler's knobs, as `cluster.scheduler.policy.Policy` defines them; left out = its default."""

    queueing: Literal["lockstep", "fifo", "easy"] | None = None
    quotas: bool | None = None
    lending: bool | None = None
    preemption: bool | None = None
    reserve_after_s: Seconds | None = None
    reservations_per_model: CountOrNone | None = None
    max_grace_s: Seconds | None = None
    requeue_backoff_s: Seconds | None = None
    placeable_gpus: Count | None = None
    activity_fresh_s: Seconds | None = None
    search_budget: Count | None = None

    @property
    def settings(self) -> dict[str, object]:
        """Only what the file sets."""
        return self.model_dump(exclude_none=True)


class ClusterEntry(Entry):
    """A whole cluster description."""

    name: Text = ""
    gpu_models: Annotated[list[GpuModelEntry], Field(min_length=1)]
    racks: Annotated[list[RackEntry], Field(min_length=1)]
    pods: Annotated[list[PodEntry], Field(min_length=1)]
    tenants: Annotated[list[TenantEntry], Field(min_length=1)]
    users: list[UserEntry] = []
    policy: PolicyEntry = PolicyEntry()
