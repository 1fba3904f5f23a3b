"""What racks may draw: every element's limit in the normal state and in each required failure state.

Every limit is linear in the racks' draws:  Σ share[rack] · draw_w[rack] ≤ limit_w.  A rack's draw is split
equally over its active feeds, over the survivors when one is lost; a panel carries what its feeds carry; heat
is power, its liquid part going to the liquid side of the cooling zone and the rest to the air. A failure
state loses one element. Two at once are not promised.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import floor

FAILURE_STATES = ("feed_lost", "panel_lost", "cooling_unit_lost")
SQRT3 = 1.732
"""Rounded as the trade and NetBox's formula do."""


@dataclass(frozen=True, slots=True)
class Feed:
    """One circuit into one rack. `limit_w` after derating and power factor."""

    name: str
    rack: str
    limit_w: float
    panel: str | None = None
    is_active: bool = True


@dataclass(frozen=True, slots=True)
class Panel:
    name: str
    limit_w: float | None = None


@dataclass(frozen=True, slots=True)
class Unit:
    name: str
    capacity_w: float
    side: str = "air"
    is_active: bool = True


@dataclass(frozen=True, slots=True)
class Zone:
    name: str
    racks: tuple[str, ...]
    units: tuple[Unit, ...]
    liquid_fraction: float = 0.0


@dataclass(frozen=True, slots=True)
class Supplies:
    """Power supplies of the nodes of a rack: of `count`, `needed` must be alive, spread evenly over feeds."""

    count: int
    needed: int


@dataclass(frozen=True, slots=True)
class Limit:
    """What one element may carry in one state, in watts."""

    scope: str
    kind: str
    """"rack", "feed", "panel", "cooling" or "supply" """
    state: str
    """"normal", or what is lost"""
    limit_w: float
    share: Mapping[str, float]
    """rack → the part of its draw that the element carries in this state"""


@dataclass(frozen=True, slots=True)
class Headroom:
    """A limit against present draws. With unknown draws `used_w` is "at least"."""

    limit: Limit
    used_w: float
    unknown: tuple[str, ...]
    """racks whose draw is not known: never read as fine"""

    @property
    def headroom_w(self) -> float | None:
        """Watts left; None while a draw is unknown, unless what is known is too much already."""
        left = self.limit.limit_w - self.used_w
        return None if self.unknown and left >= 0 else left


def feed_va(voltage_v: float, amperage_a: float, max_utilization: float, phases: int = 1) -> int:
    """What a feed may carry, in VA: round(|V| · A · utilisation · √3 for three phases), as NetBox has it."""
    return round(abs(voltage_v) * amperage_a * max_utilization * (SQRT3 if phases == 3 else 1.0))


def feed_limit_w(
    voltage_v: float, amperage_a: float, max_utilization: float, phases: int, power_factor: float
) -> float:
    """The same in watts."""
    return feed_va(voltage_v, amperage_a, max_utilization, phases) * power_factor


def limits(
    *,
    rack_limits_w: Mapping[str, float | None],
    feeds: Sequence[Feed] = (),
    panels: Sequence[Panel] = (),
    zones: Sequence[Zone] = (),
    supplies: Mapping[str, Supplies] | None = None,
    failure_states: Sequence[str] = (),
) -> list[Limit]:
    """Every limit in the normal state and in each required failure state.

    Raises ValueError naming an unknown failure state.
    """
    unknown = [state for state in failure_states if state not in FAILURE_STATES]
    if unknown:
        raise ValueError(f"unknown failure state {unknown[0]!r}; allowed: {', '.join(FAILURE_STATES)}")
    found = [
        Limit(f"rack {rack}", "rack", "normal", limit_w, {rack: 1.0})
        for rack, limit_w in rack_limits_w.items()
        if limit_w is not None
    ]
    by_rack: dict[str, list[Feed]] = {}
    for feed in feeds:
        by_rack.setdefault(feed.rack, []).append(feed)
    for rack, all_feeds in by_rack.items():
        found += _rack_feeds(rack, all_feeds, failure_states, (supplies or {}).get(rack))
    found += _panels(by_rack, panels, failure_states)
    for zone in zones:
        found += _cooling(zone, failure_states)
    return found


def _rack_feeds(
    rack: str, all_feeds: Sequence[Feed], failure_states: Sequence[str], supplies: Supplies | None
) -> list[Limit]:
    active = [feed for feed in all_feeds if feed.is_active]
    found = _on_feeds(rack, active, "normal", len(all_feeds), supplies)
    lost: list[tuple[str, list[Feed]]] = []
    # A feed that is down already is the state of one feed lost: no second one is promised.
    if "feed_lost" in failure_states and len(active) == len(all_feeds):
        lost += [
            (f"feed {feed.name} of rack {rack} lost", [f for f in active if f != feed]) for feed in active
        ]
    if "panel_lost" in failure_states:
        names = sorted({feed.panel for feed in active if feed.panel is not None})
        lost += [(f"panel {name} lost", [f for f in active if f.panel != name]) for name in names]
    for state, alive in lost:
        found += _on_feeds(rack, alive, state, len(all_feeds), supplies)
    return found


def _on_feeds(
    rack: str, alive: Sequence[Feed], state: str, feeds: int, supplies: Supplies | None
) -> list[Limit]:
    if not alive:
        return [Limit(f"rack {rack}", "feed", state, 0.0, {rack: 1.0})]
    share = {rack: 1.0 / len(alive)}
    found = [Limit(f"feed {feed.name} of rack {rack}", "feed", state, feed.limit_w, share) for feed in alive]
    if supplies is not None and supplies.count * len(alive) / feeds < supplies.needed:
        found.append(Limit(f"power supplies in rack {rack}", "supply", state, 0.0, {rack: 1.0}))
    return found


def _panels(
    by_rack: Mapping[str, Sequence[Feed]], panels: Sequence[Panel], failure_states: Sequence[str]
) -> list[Limit]:
    """A panel carries its feeds; when another panel is lost, its racks' feeds here carry more."""
    with_feeds = sorted(
        {f.panel for fs in by_rack.values() for f in fs if f.is_active and f.panel is not None}
    )
    states: list[tuple[str, str | None]] = [("normal", None)]
    if "panel_lost" in failure_states:
        states += [(f"panel {name} lost", name) for name in with_feeds]
    found = []
    for panel in panels:
        if panel.limit_w is None:
            continue
        for state, gone in states:
            share = {}
            for rack, feeds in by_rack.items():
                alive = [f for f in feeds if f.is_active and f.panel != gone]
                ours = sum(1 for f in alive if f.panel == panel.name)
                if ours:
                    share[rack] = ours / len(alive)
            if share and gone != panel.name:
                found.append(Limit(f"panel {panel.name}", "panel", state, panel.limit_w, share))
        if "feed_lost" in failure_states:
            found += _panel_with_feed_lost(panel.name, panel.limit_w, by_rack)
    return found


def _panel_with_feed_lost(name: str, limit_w: float, by_rack: Mapping[str, Sequence[Feed]]) -> list[Limit]:
    """One feed of one rack is lost elsewhere: this panel then carries more of that rack."""
    normal = {}
    for rack, feeds in by_rack.items():
        alive = [f for f in feeds if f.is_active]
        ours = sum(1 for f in alive if f.panel == name)
        if ours:
            normal[rack] = ours / len(alive)
    found = []
    for rack in normal:
        alive = [f for f in by_rack[rack] if f.is_active]
        for feed in alive:
            if feed.panel != name and len(alive) > 1:
                ours = sum(1 for f in alive if f.panel == name)
                share = {**normal, rack: ours / (len(alive) - 1)}
                state = f"feed {feed.name} of rack {rack} lost"
                found.append(Limit(f"panel {name}", "panel", state, limit_w, share))
    return found


def _cooling(zone: Zone, failure_states: Sequence[str]) -> list[Limit]:
    found = []
    for side, fraction in (("air", 1.0 - zone.liquid_fraction), ("liquid", zone.liquid_fraction)):
        units = [unit for unit in zone.units if unit.side == side]
        if fraction <= 0 or not units:
            continue
        share = dict.fromkeys(zone.racks, fraction)
        active = [unit for unit in units if unit.is_active]
        scope, total = f"cooling zone {zone.name}, {side}", sum(unit.capacity_w for unit in active)
        found.append(Limit(scope, "cooling", "normal", total, share))
        if "cooling_unit_lost" in failure_states and len(active) == len(units):
            found += [
                Limit(scope, "cooling", f"{unit.name} of {zone.name} lost", total - unit.capacity_w, share)
                for unit in active
            ]
    return found


def tightest(found: Iterable[Limit]) -> list[Limit]:
    """Of limits on the same racks in the same parts, only the lowest: the others can never bind first."""
    lowest: dict[tuple[tuple[str, float], ...], Limit] = {}
    for limit in found:
        key = tuple(sorted(limit.share.items()))
        # Scale to a common share, so that half a rack on one feed compares with the whole on its survivor.
        largest = max(limit.share.values(), default=0.0)
        if largest <= 0:
            continue
        scaled = tuple((rack, round(part / largest, 9)) for rack, part in key)
        known = lowest.get(scaled)
        if known is None or limit.limit_w / largest < known.limit_w / max(known.share.values()):
            lowest[scaled] = limit
    return list(lowest.values())


def headroom(found: Iterable[Limit], draw_w: Mapping[str, float | None]) -> list[Headroom]:
    """Each limit against what the racks draw; a rack that is missing, or None, is unknown."""
    result = []
    for limit in found:
        unknown = tuple(sorted(rack for rack in limit.share if draw_w.get(rack) is None))
        used_w = sum(share * (draw_w.get(rack) or 0.0) for rack, share in limit.share.items())
        result.append(Headroom(limit, used_w, unknown))
    return result


def binding(found: Iterable[Headroom], rack: str) -> Headroom | None:
    """The limit that leaves this rack least room for more draw; None if none applies to it."""
    on_rack = [each for each in found if each.limit.share.get(rack, 0.0) > 0]
    return min(on_rack, key=lambda h: (h.limit.limit_w - h.used_w) / h.limit.share[rack], default=None)


def room_w(bound: Headroom, rack: str) -> float | None:
    """How much more this rack may draw under its binding limit; None while a draw is unknown."""
    left = bound.headroom_w
    return None if left is None else left / bound.limit.share[rack]


def nodes_that_fit(limit: Limit, rack: str, node_w: float, other_w: float = 0.0) -> int:
    """The most nodes of this draw that the rack may hold under a limit that carries `other_w` besides."""
    return max(0, floor((limit.limit_w - other_w) / (limit.share[rack] * node_w) + 1e-9))


def cap_w(limit: Limit, rack: str, nodes: int) -> int:
    """To what each of so many nodes would have to be capped for the limit to hold, in whole watts."""
    return floor(limit.limit_w / (limit.share[rack] * nodes))
