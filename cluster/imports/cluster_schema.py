"""What a cluster description may hold. `examples/cluster.yaml` shows all of it with explanations."""

from decimal import Decimal
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import Field, create_model

from cluster.imports.fields import (
    Count,
    CountOrNone,
    Duration,
    Email,
    Entry,
    Name,
    NameRange,
    Slug,
    Text,
    Usd,
    UserName,
    Watts,
    Weight,
    Word,
    Zone,
)
from cluster.scheduler.policy import FAILURE_STATES, Policy, Queueing

Role = Literal["cluster_owner", "tenant_admin", "release_owner", "researcher", "viewer"]
Status = Literal["planned", "active", "offline", "failed"]
DEFAULT_USD_PER_GPU_HOUR = Decimal(2)


class GpuModelEntry(Entry):
    """A kind of GPU. Draws in watts; what is left out is unknown, not zero."""

    name: Word
    memory_gb: Count | None = None
    idle_w: Watts | None = None
    expected_w: Watts | None = None
    maximum_w: Watts | None = None
    usd_per_gpu_hour: Usd = DEFAULT_USD_PER_GPU_HOUR


class PanelEntry(Entry):
    """What feeds several feeds; without a limit of its own it is there to be named as lost."""

    name: Name
    limit_w: Watts | None = None


class FeedEntry(Entry):
    """One circuit into each rack of the entry, with its breaker."""

    name: Name
    panel: Name | None = None
    voltage_v: Annotated[float, Field(ge=-1000, le=100_000)]
    amperage_a: Annotated[float, Field(gt=0, le=10_000)]
    phases: Literal[1, 3] = 3
    max_utilization: Annotated[float, Field(gt=0, le=1)] = 0.8
    power_factor: Annotated[float, Field(gt=0, le=1)] = 1.0
    status: Status = "active"


class RackEntry(Entry):
    """One rack, or a range of them standing side by side in a row."""

    name: NameRange
    row: Annotated[str, Field(max_length=32)] = ""
    position: CountOrNone = 0
    power_limit_w: Watts | None = None
    feeds: list[FeedEntry] = []


class CoolingUnitEntry(Entry):
    """One machine that takes heat out of its zone."""

    name: Name
    side: Literal["air", "liquid"] = "air"
    capacity_w: Watts
    status: Status = "active"


class CoolingZoneEntry(Entry):
    """Racks that are cooled together."""

    name: Name
    racks: Annotated[list[NameRange], Field(min_length=1)]
    liquid_fraction: Annotated[float, Field(ge=0, le=1)] = 0.0
    units: Annotated[list[CoolingUnitEntry], Field(min_length=1)]


class NodesEntry(Entry):
    """One node, or a range of equal ones shared out in order over one rack or a range of racks."""

    name: NameRange
    gpu_model: Name
    gpus: Annotated[int, Field(ge=1, le=64)]
    rack: NameRange
    rack_unit: Count | None = None  # None = on top of what the rack holds already
    height_u: Annotated[int, Field(ge=1, le=60)] = 8
    base_w: Watts | None = None
    cache_gb: Annotated[float, Field(ge=0, le=1e9)] | None = None


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


class _PolicySettings(Entry):
    @property
    def settings(self) -> dict[str, object]:
        """Only what the file sets."""
        return self.model_dump(exclude_none=True)


def _policy_keys() -> dict[str, Any]:
    """The scheduler's knobs as optional keys: what `Policy` learns, a file may set."""
    queueing = Literal[tuple(kind.value for kind in Queueing)]
    states = list[Literal[FAILURE_STATES]]  # type: ignore[valid-type]
    kinds: dict[Any, Any] = {
        bool: bool,
        int: CountOrNone,
        float: Duration,
        Queueing: queueing,
        tuple[str, ...]: states,
    }
    return {name: (kinds[kind] | None, None) for name, kind in get_type_hints(Policy).items()}


PolicyEntry = create_model("PolicyEntry", __base__=_PolicySettings, **_policy_keys())
"""The policy section; a key that is left out has its default."""


class ClusterEntry(Entry):
    """A whole cluster description."""

    name: Text = ""
    gpu_models: Annotated[list[GpuModelEntry], Field(min_length=1)]
    power_panels: list[PanelEntry] = []
    racks: Annotated[list[RackEntry], Field(min_length=1)]
    cooling_zones: list[CoolingZoneEntry] = []
    pods: Annotated[list[PodEntry], Field(min_length=1)]
    tenants: Annotated[list[TenantEntry], Field(min_length=1)]
    users: list[UserEntry] = []
    policy: PolicyEntry = PolicyEntry()
