"""Names and sums in what a cluster description says of power and cooling."""

from collections.abc import Iterator

from cluster.imports.cluster_schema import ClusterEntry, CoolingZoneEntry
from cluster.imports.description import RackSpec
from cluster.imports.document import Document, unknown
from cluster.imports.problems import Path, Problem
from cluster.imports.ranges import expand


def check_power(document: Document, cluster: ClusterEntry, racks: list[RackSpec]) -> Iterator[Problem]:
    """Panels and racks that do not exist, feeds and units that exist twice, racks that are cooled twice."""
    yield from _feeds(document, cluster)
    yield from _cooled(document, cluster, [rack.name for rack in racks])
    for z, zone in enumerate(cluster.cooling_zones):
        yield from _units(document, zone, ("cooling_zones", z, "units"))


def _feeds(document: Document, cluster: ClusterEntry) -> Iterator[Problem]:
    panels = [panel.name for panel in cluster.power_panels]
    for r, rack in enumerate(cluster.racks):
        seen: set[str] = set()
        for f, feed in enumerate(rack.feeds):
            path: Path = ("racks", r, "feeds", f)
            if feed.panel is not None and feed.panel not in panels:
                yield unknown(document, (*path, "panel"), "power panel", feed.panel, panels)
            if feed.name in seen:
                yield document.error((*path, "name"), f"there is already a feed '{feed.name}' in this rack")
            seen.add(feed.name)


def _cooled(document: Document, cluster: ClusterEntry, known: list[str]) -> Iterator[Problem]:
    zone_of: dict[str, str] = {}
    for z, zone in enumerate(cluster.cooling_zones):
        for n, names in enumerate(zone.racks):
            for name in expand(names):
                path: Path = ("cooling_zones", z, "racks", n)
                if name not in known:
                    yield unknown(document, path, "rack", name, known)
                elif name in zone_of:
                    yield document.error(path, f"rack '{name}' is already in the zone '{zone_of[name]}'")
                zone_of.setdefault(name, zone.name)


def _units(document: Document, zone: CoolingZoneEntry, path: Path) -> Iterator[Problem]:
    seen: set[str] = set()
    for u, unit in enumerate(zone.units):
        if unit.name in seen:
            text = f"there is already a unit '{unit.name}' in this zone"
            yield document.error((*path, u, "name"), text)
        seen.add(unit.name)
    sides = {unit.side for unit in zone.units}
    for side, share in (("liquid", zone.liquid_fraction), ("air", 1 - zone.liquid_fraction)):
        if share > 0 and side not in sides:
            text = f"{share:.0%} of its heat goes to the {side} side, which has no unit and so no limit"
            yield document.warning(path, text)
