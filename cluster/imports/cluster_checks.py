"""What the form of a cluster description cannot tell: names that do not exist or exist twice, sums, rings."""

from collections.abc import Iterable, Iterator
from itertools import pairwise

from cluster.imports.cluster_schema import ClusterEntry, TenantEntry
from cluster.imports.description import NodeSpec, RackSpec, TenantSpec, nodes_of, racks_of, tenants_of
from cluster.imports.document import Document, unknown
from cluster.imports.power_checks import check_power
from cluster.imports.problems import Path, Problem
from cluster.imports.ranges import expand

Named = tuple[str, Path]


def check_cluster(document: Document, cluster: ClusterEntry) -> list[Problem]:
    """Every finding about the whole; warnings among them."""
    racks, nodes, tenants = racks_of(cluster), nodes_of(cluster), tenants_of(cluster)
    return [
        *_doubles(document, cluster, racks, nodes, tenants),
        *_draws(document, cluster),
        *_places(document, cluster, racks),
        *check_power(document, cluster, racks),
        *_models_of_tenants(document, cluster, tenants),
        *_parents(document, cluster, tenants),
        *_sums(document, tenants),
        *_over_installed(document, nodes, tenants),
        *_roles(document, cluster, tenants),
    ]


def _doubles(
    document: Document,
    cluster: ClusterEntry,
    racks: list[RackSpec],
    nodes: list[NodeSpec],
    tenants: list[TenantSpec],
) -> Iterator[Problem]:
    blocks = [(p, b, block.name) for p, pod in enumerate(cluster.pods) for b, block in enumerate(pod.blocks)]
    kinds: dict[str, list[Named]] = {
        "GPU model": [(m.name, ("gpu_models", i, "name")) for i, m in enumerate(cluster.gpu_models)],
        "rack": [(rack.name, rack.path) for rack in racks],
        "power panel": [(p.name, ("power_panels", i, "name")) for i, p in enumerate(cluster.power_panels)],
        "cooling zone": [(z.name, ("cooling_zones", i, "name")) for i, z in enumerate(cluster.cooling_zones)],
        "pod": [(pod.name, ("pods", i, "name")) for i, pod in enumerate(cluster.pods)],
        "block": [(name, ("pods", p, "blocks", b, "name")) for p, b, name in blocks],
        "node": [(node.name, (*node.path, "name")) for node in nodes],
        "tenant": [(tenant.name, (*tenant.path, "name")) for tenant in tenants],
        "user": [(user.name, ("users", i, "name")) for i, user in enumerate(cluster.users)],
    }
    for kind, named in kinds.items():
        yield from _double(document, kind, named)


def _double(document: Document, kind: str, named: Iterable[Named]) -> Iterator[Problem]:
    first: dict[str, Path] = {}
    said: set[Path] = set()
    for name, path in named:
        earlier = first.setdefault(name, path)
        if earlier is not path and path not in said:
            said.add(path)
            line = document.line_of(earlier)
            yield document.error(
                path, f"there is already a {kind} '{name}'{f' in line {line}' if line else ''}"
            )


def _draws(document: Document, cluster: ClusterEntry) -> Iterator[Problem]:
    for number, model in enumerate(cluster.gpu_models):
        known = [
            (key, getattr(model, key))
            for key in ("idle_w", "expected_w", "maximum_w")
            if getattr(model, key) is not None
        ]
        for (low, least), (high, most) in pairwise(known):
            if least > most:
                path = ("gpu_models", number, high)
                yield document.error(path, f"{most} W is less than {low} ({least} W)", f"{least} or more")


def _places(document: Document, cluster: ClusterEntry, racks: list[RackSpec]) -> Iterator[Problem]:
    models, rack_names = [m.name for m in cluster.gpu_models], {rack.name for rack in racks}
    used: set[str] = set()
    for p, pod in enumerate(cluster.pods):
        for b, block in enumerate(pod.blocks):
            for n, entry in enumerate(block.nodes):
                path: Path = ("pods", p, "blocks", b, "nodes", n)
                used.add(entry.gpu_model)
                if entry.gpu_model not in models:
                    yield unknown(document, (*path, "gpu_model"), "GPU model", entry.gpu_model, models)
                wanted, count = expand(entry.rack), len(expand(entry.name))
                for rack in wanted:
                    if rack not in rack_names:
                        yield unknown(document, (*path, "rack"), "rack", rack, sorted(rack_names))
                if len(wanted) > count:
                    yield document.error((*path, "rack"), f"{len(wanted)} racks for {count} nodes")
    for number, model in enumerate(models):
        if model not in used:
            yield document.warning(("gpu_models", number, "name"), f"no node has GPUs of the model '{model}'")


def _models_of_tenants(
    document: Document, cluster: ClusterEntry, tenants: list[TenantSpec]
) -> Iterator[Problem]:
    models = [model.name for model in cluster.gpu_models]
    for tenant in tenants:
        for key in ("entitlement", "lending_limit", "borrowing_limit"):
            for model in getattr(tenant, key):
                if model not in models:
                    yield unknown(document, (*tenant.path, key, model), "GPU model", model, models)


def _parents(document: Document, cluster: ClusterEntry, tenants: list[TenantSpec]) -> Iterator[Problem]:
    parent_of = {tenant.name: tenant.parent for tenant in tenants}
    for tenant in tenants:
        path = (*tenant.path, "parent")
        if tenant.parent is not None and tenant.parent not in parent_of:
            yield unknown(document, path, "tenant", tenant.parent, sorted(parent_of))
        elif ring := ring_from(tenant.name, parent_of):
            yield document.error(path, f"'{tenant.name}' would stand above itself: {' → '.join(ring)}")
    for number, entry in enumerate(cluster.tenants):
        yield from _two_parents(document, entry, ("tenants", number))


def _two_parents(document: Document, entry: TenantEntry, path: Path) -> Iterator[Problem]:
    for number, below in enumerate(entry.tenants):
        here = (*path, "tenants", number)
        if below.parent is not None and below.parent != entry.name:
            text = f"'{below.name}' stands under '{entry.name}' and names '{below.parent}' as its parent"
            yield document.error((*here, "parent"), text, "one of the two")
        yield from _two_parents(document, below, here)


def ring_from(name: str, parent_of: dict[str, str | None]) -> list[str]:
    """The way from the tenant upwards back to itself; empty when it leads to the top."""
    way, at = [name], parent_of.get(name)
    while at is not None and at not in way:
        way.append(at)
        at = parent_of.get(at)
    return [*way, name] if at == name else []


def _sums(document: Document, tenants: list[TenantSpec]) -> Iterator[Problem]:
    """The teams of an organisation may not be promised more than the organisation."""
    for parent in tenants:
        for model, own in parent.entitlement.items():
            shares = [(t.name, t.entitlement.get(model, 0)) for t in tenants if t.parent == parent.name]
            total = sum(gpus for _, gpus in shares)
            if total > own:
                parts = " + ".join(f"{gpus} ({name})" for name, gpus in shares if gpus)
                text = (
                    f"the tenants below '{parent.name}' are entitled to {parts} = {total} {model}, "
                    f"more than its own {own}"
                )
                yield document.error(
                    (*parent.path, "entitlement", model), text, f"{total} or more, or less below"
                )


def _over_installed(
    document: Document, nodes: list[NodeSpec], tenants: list[TenantSpec]
) -> Iterator[Problem]:
    installed: dict[str, int] = {}
    for node in nodes:
        installed[node.gpu_model] = installed.get(node.gpu_model, 0) + node.gpus
    for model, gpus in installed.items():
        promised = sum(_entitled(t, model, tenants) for t in tenants if t.parent is None)
        if promised > gpus:
            text = (
                f"entitlements come to {promised} {model}, but {gpus} are installed: "
                "not all can be had at once"
            )
            yield document.warning(("tenants",), text)


def _entitled(tenant: TenantSpec, model: str, tenants: list[TenantSpec], depth: int = 0) -> int:
    """Its own entitlement, or that of the tenants below when it states none."""
    if model in tenant.entitlement or depth > len(tenants):
        return tenant.entitlement.get(model, 0)
    below = [t for t in tenants if t.parent == tenant.name]
    return sum(_entitled(child, model, tenants, depth + 1) for child in below)


def _roles(document: Document, cluster: ClusterEntry, tenants: list[TenantSpec]) -> Iterator[Problem]:
    known = sorted(tenant.name for tenant in tenants)
    for u, user in enumerate(cluster.users):
        for r, role in enumerate(user.roles):
            if role.tenant is not None and role.tenant not in known:
                yield unknown(document, ("users", u, "roles", r, "tenant"), "tenant", role.tenant, known)
