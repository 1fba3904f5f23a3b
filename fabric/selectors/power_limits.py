"""Rows of racks, feeds, panels and cooling → the limits that placements must keep."""

from collections import defaultdict
from collections.abc import Sequence

from fabric.models import CoolingUnit, CoolingZone, FeedStatus, PowerFeed, PowerPanel, Rack
from fabric.rules.power import Feed, Limit, Panel, Unit, Zone, feed_limit_w, limits


def power_limits(failure_states: Sequence[str]) -> list[Limit]:
    """In a constant number of queries. Racks of which nothing is stated have no limit."""
    units: dict[int, list[Unit]] = defaultdict(list)
    for unit in CoolingUnit.objects.all():
        is_active = unit.status == FeedStatus.ACTIVE
        units[unit.zone_id].append(Unit(unit.name, unit.capacity_w, unit.side, is_active))
    zone_racks: dict[int, list[str]] = defaultdict(list)
    for zone_id, rack in CoolingZone.racks.through.objects.values_list("coolingzone_id", "rack__name"):
        zone_racks[zone_id].append(rack)
    return limits(
        rack_limits_w=dict(Rack.objects.values_list("name", "power_limit_w")),
        feeds=_feeds(),
        panels=[Panel(panel.name, panel.limit_w) for panel in PowerPanel.objects.all()],
        zones=[
            Zone(zone.name, tuple(zone_racks[zone.pk]), tuple(units[zone.pk]), zone.liquid_fraction)
            for zone in CoolingZone.objects.all()
        ],
        failure_states=failure_states,
    )


def _feeds() -> list[Feed]:
    return [
        Feed(
            feed.name,
            feed.rack.name,
            feed_limit_w(
                feed.voltage_v, feed.amperage_a, feed.max_utilization, feed.phases, feed.power_factor
            ),
            feed.panel.name if feed.panel is not None else None,
            feed.status == FeedStatus.ACTIVE,
        )
        for feed in PowerFeed.objects.select_related("rack", "panel")
    ]
