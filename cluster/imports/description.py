"""A cluster description laid out flat: every node, rack and tenant by name, ranges written out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cluster.imports.cluster_schema import (
    ClusterEntry,
    CoolingZoneEntry,
    FeedEntry,
    GpuModelEntry,
    NodesEntry,
    PanelEntry,
    TenantEntry,
    UserEntry,
)
from cluster.imports.problems import Path
from cluster.imports.ranges import expand


@dataclass(frozen=True, slots=True)
class RackSpec:
    name: str
    row: str
    position: int
    power_limit_w: int | None
    path: Path
    feeds: tuple[FeedEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeSpec:
    name: str
    gpu_model: str
    gpus: int
    pod: str
    block: str
    rack: str
    rack_unit: int
    base_w: int | None
    path: Path
    cache_gb: float | None = None


@dataclass(frozen=True, slots=True)
class TenantSpec:
    name: str
    title: str
    parent: str | None
    weight: float
    entitlement: Mapping[str, int]
    lending_limit: Mapping[str, int | None]
    borrowing_limit: Mapping[str, int | None]
    path: Path

    @property
    def models(self) -> list[str]:
        """Every GPU model that this tenant says something about."""
        return sorted({*self.entitlement, *self.lending_limit, *self.borrowing_limit})


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """What a description file says, checked and complete. Tenants stand after their parents."""

    name: str
    gpu_models: list[GpuModelEntry]
    racks: list[RackSpec]
    pods: list[str]
    blocks: dict[str, str]
    """block → pod"""
    nodes: list[NodeSpec]
    tenants: list[TenantSpec]
    users: list[UserEntry]
    policy: dict[str, object]
    power_panels: Sequence[PanelEntry] = ()
    cooling_zones: Sequence[CoolingZoneEntry] = ()

    def installed_gpus(self) -> dict[str, int]:
        """GPUs by model."""
        totals: dict[str, int] = {}
        for node in self.nodes:
            totals[node.gpu_model] = totals.get(node.gpu_model, 0) + node.gpus
        return totals


def racks_of(cluster: ClusterEntry) -> list[RackSpec]:
    """All racks; those of a range stand side by side from the entry's position on."""
    return [
        RackSpec(
            name,
            entry.row,
            entry.position + offset,
            entry.power_limit_w,
            ("racks", number, "name"),
            tuple(entry.feeds),
        )
        for number, entry in enumerate(cluster.racks)
        for offset, name in enumerate(expand(entry.name))
    ]


def nodes_of(cluster: ClusterEntry) -> list[NodeSpec]:
    """All nodes, each with its place in a rack."""
    top: dict[str, int] = {}
    """rack → lowest unit that is still free"""
    return [
        node
        for p, pod in enumerate(cluster.pods)
        for b, block in enumerate(pod.blocks)
        for n, entry in enumerate(block.nodes)
        for node in _nodes(entry, pod.name, block.name, ("pods", p, "blocks", b, "nodes", n), top)
    ]


def _nodes(entry: NodesEntry, pod: str, block: str, path: Path, top: dict[str, int]) -> Iterator[NodeSpec]:
    """The nodes of one entry, shared out over its racks in order: the first rack gets the first ones."""
    names, racks = expand(entry.name), expand(entry.rack)
    per_rack = -(-len(names) // len(racks))
    for number, name in enumerate(names):
        rack, place = racks[number // per_rack], number % per_rack
        if entry.rack_unit is not None:
            unit = entry.rack_unit + place * entry.height_u
        else:
            unit = top.get(rack, 1)
        top[rack] = max(top.get(rack, 1), unit + entry.height_u)
        where = (pod, block, rack, unit)
        yield NodeSpec(name, entry.gpu_model, entry.gpus, *where, entry.base_w, path, entry.cache_gb)


def tenants_of(cluster: ClusterEntry) -> list[TenantSpec]:
    """All tenants in the file's order, nested ones with the parent they stand under."""
    return [
        spec
        for number, entry in enumerate(cluster.tenants)
        for spec in _tenants(entry, entry.parent, ("tenants", number))
    ]


def _tenants(entry: TenantEntry, parent: str | None, path: Path) -> Iterator[TenantSpec]:
    yield TenantSpec(
        entry.name,
        entry.title,
        parent,
        entry.weight,
        entry.entitlement,
        entry.lending_limit,
        entry.borrowing_limit,
        path,
    )
    for number, below in enumerate(entry.tenants):
        yield from _tenants(below, entry.name, (*path, "tenants", number))


def parents_first(tenants: list[TenantSpec]) -> list[TenantSpec]:
    """The tenants so that each stands after its parent. The tree must have no ring."""
    by_name = {tenant.name: tenant for tenant in tenants}

    def depth(tenant: TenantSpec) -> int:
        return 0 if tenant.parent is None else 1 + depth(by_name[tenant.parent])

    return sorted(tenants, key=depth)
