"""Panels, feeds and cooling as a description has them. What it leaves out of what it names is taken away."""

from collections.abc import Mapping
from typing import Any

from django.db import models

from cluster.imports.description import ClusterDescription
from cluster.imports.ranges import expand
from cluster.services.importing.changes import Changes, bring_in_line
from fabric.models import CoolingUnit, CoolingZone, PowerFeed, PowerPanel, Rack


def import_power(description: ClusterDescription, racks: Mapping[str, Rack], changes: Changes) -> None:
    panels = bring_in_line(
        "power panel",
        PowerPanel.objects,
        {panel.name: {"limit_w": panel.limit_w} for panel in description.power_panels},
        changes,
    )
    feeds = {
        (racks[rack.name].pk, feed.name): {
            **feed.model_dump(exclude={"name", "panel"}),
            "panel_id": panels[feed.panel].pk if feed.panel is not None else None,
        }
        for rack in description.racks
        for feed in rack.feeds
    }
    named = [racks[rack.name].pk for rack in description.racks]
    _bring("feed", PowerFeed, "rack_id", feeds, PowerFeed.objects.filter(rack__in=named), changes)
    zones = bring_in_line(
        "cooling zone",
        CoolingZone.objects,
        {zone.name: {"liquid_fraction": zone.liquid_fraction} for zone in description.cooling_zones},
        changes,
    )
    units = {}
    for entry in description.cooling_zones:
        zone = zones[entry.name]
        wanted = {racks[name].pk for names in entry.racks for name in expand(names)}
        there = set(zone.racks.values_list("pk", flat=True))
        if there != wanted:
            changes.change("cooling zone", entry.name, "racks", len(there), len(wanted))
            zone.racks.set(wanted)
        units |= {(zone.pk, unit.name): unit.model_dump(exclude={"name"}) for unit in entry.units}
    in_zones = CoolingUnit.objects.filter(zone__in=zones.values())
    _bring("cooling unit", CoolingUnit, "zone_id", units, in_zones, changes)


def _bring(
    kind: str,
    model: type[models.Model],
    whose: str,
    wanted: Mapping[tuple[int, str], Mapping[str, Any]],
    present: models.QuerySet[Any],
    changes: Changes,
) -> None:
    """Rows that have a name only within something else: created, changed or taken away."""
    rows = {(getattr(row, whose), row.name): row for row in present}
    for key, row in rows.items():
        if key not in wanted:
            changes.remove(kind, str(row))
            row.delete()
    for key, values in wanted.items():
        row = rows.get(key)
        if row is None:
            row = model._default_manager.create(**{whose: key[0], "name": key[1], **values})
            changes.create(kind, str(row))
            continue
        differing = [name for name, value in values.items() if getattr(row, name) != value]
        for name in differing:
            changes.change(kind, str(row), name, getattr(row, name), values[name])
            setattr(row, name, values[name])
        if differing:
            row.save(update_fields=differing)
