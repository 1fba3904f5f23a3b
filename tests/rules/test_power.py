"""Power and cooling against worked examples, every number exact; and what holds for any site."""

from hypothesis import given
from hypothesis import strategies as st
from pytest import approx, mark, raises

from fabric.rules.power import (
    Feed,
    Panel,
    Supplies,
    Unit,
    Zone,
    binding,
    cap_w,
    feed_limit_w,
    feed_va,
    headroom,
    limits,
    nodes_that_fit,
    room_w,
    tightest,
)

NODE_W = 10_200.0
FEED_W = 34_501.0
LOST = ("feed_lost", "panel_lost", "cooling_unit_lost")


def feeds(rack: str, *names: str, limit_w: float = FEED_W, **more) -> list[Feed]:
    return [Feed(name, rack, limit_w, **more) for name in names]


def site(*all_feeds: Feed, states=("feed_lost",), **more):
    return tightest(limits(rack_limits_w={}, feeds=all_feeds, failure_states=states, **more))


@mark.parametrize(
    ("volt", "ampere", "phases", "va"),
    [
        (415, 60, 3, 34_501),
        (415, 32, 3, 18_401),
        (208, 50, 1, 8_320),
        (208, 50, 3, 14_410),
        (120, 20, 1, 1_920),
        (120, 15, 1, 1_440),
        (-48, 100, 1, 3_840),
    ],
)
def test_what_a_feed_may_carry(volt, ampere, phases, va):
    assert feed_va(volt, ampere, 0.8, phases) == va


def test_the_power_factor_turns_va_into_watts():
    assert feed_limit_w(415, 60, 0.8, 3, 0.95) == approx(32_775.95)


def test_two_feeds_of_an_air_cooled_rack():
    normal = site(*feeds("r", "A", "B"), states=())
    lost = site(*feeds("r", "A", "B"))

    (three,) = headroom(normal, {"r": 3 * NODE_W})
    assert three.used_w / three.limit.limit_w == approx(0.443, abs=5e-4)
    (four,) = headroom(lost, {"r": 4 * NODE_W})
    assert four.headroom_w == -6_299
    assert four.limit.state in ("feed A of rack r lost", "feed B of rack r lost")
    assert four.used_w / four.limit.limit_w == approx(1.183, abs=5e-4)
    (three,) = headroom(lost, {"r": 3 * NODE_W})
    assert three.headroom_w == 3_901
    assert nodes_that_fit(lost[0], "r", NODE_W) == 3
    assert cap_w(lost[0], "r", 4) == 8_625


def test_supplies_stop_a_node_that_the_watts_would_keep():
    two = site(*feeds("r", "A", "B"), supplies={"r": Supplies(6, 4)})
    assert {limit.kind for limit in two} == {"supply"}  # 0 W: nothing is promised with a feed lost
    assert nodes_that_fit(two[0], "r", NODE_W) == 0
    three = site(*feeds("r", "A", "B", "C"), supplies={"r": Supplies(6, 4)})
    assert {limit.kind for limit in three} == {"feed"}
    assert site(*feeds("r", "A", "B"), supplies={"r": Supplies(6, 4)}, states=())[0].kind == "feed"


def test_three_feeds_with_one_to_spare():
    node_w, all_feeds = 14_300.0, feeds("r", "A", "B", "C", limit_w=18_401)
    normal, lost = site(*all_feeds, states=()), site(*all_feeds)
    assert nodes_that_fit(normal[0], "r", node_w) == 3
    assert room_w(headroom(normal, {"r": 3 * node_w})[0], "r") == approx(12_303)
    assert nodes_that_fit(lost[0], "r", node_w) == 2
    assert room_w(headroom(lost, {"r": 2 * node_w})[0], "r") == approx(8_202)
    assert room_w(headroom(normal, {"r": 56_000.0})[0], "r") == approx(-797)


def pairs(watts: dict[str, float]) -> tuple[list[Feed], dict[str, float]]:
    """Racks on pairs of sources: each stands for one pair, and its panel is the source."""
    return [Feed(source, pair, 1e9, panel=source) for pair in watts for source in pair], watts


SOURCES = [Panel(source, 500_000) for source in "ABCD"]
ALL_PAIRS = ("AB", "AC", "AD", "BC", "BD", "CD")


def loads(found, state: str) -> dict[str, float]:
    return {h.limit.scope: h.used_w for h in found if h.limit.state == state and h.limit.kind == "panel"}


def test_four_sources_of_which_three_suffice():
    all_feeds, draw_w = pairs(dict.fromkeys(ALL_PAIRS, 250_000.0))
    found = headroom(site(*all_feeds, panels=SOURCES, states=("panel_lost",)), draw_w)
    assert loads(found, "normal") == dict.fromkeys((f"panel {s}" for s in "ABCD"), 375_000)
    assert loads(found, "panel A lost") == dict.fromkeys(("panel B", "panel C", "panel D"), 500_000)
    assert min(h.headroom_w for h in found) == 0


def test_the_same_total_spread_unevenly_does_not_survive():
    all_feeds, draw_w = pairs({pair: 500_000.0 if pair == "AB" else 200_000.0 for pair in ALL_PAIRS})
    found = headroom(site(*all_feeds, panels=SOURCES, states=("panel_lost",)), draw_w)
    assert loads(found, "normal") == {
        "panel A": 450_000, "panel B": 450_000, "panel C": 300_000, "panel D": 300_000,
    }  # fmt: skip
    assert loads(found, "panel A lost") == {"panel B": 700_000, "panel C": 400_000, "panel D": 400_000}


def test_a_row_of_racks_cooled_by_liquid_and_air():
    racks = tuple(f"r{n}" for n in range(8))
    draw_w = dict.fromkeys(racks, 120_000.0)

    def worst(*units: Unit):
        zone = Zone("row", racks, units, liquid_fraction=0.85)
        found = headroom(
            limits(rack_limits_w={}, zones=[zone], failure_states=("cooling_unit_lost",)), draw_w
        )
        return {h.limit.scope: h for h in sorted(found, key=lambda h: -h.limit.limit_w)}

    air = [Unit(f"air-{n}", 60_000) for n in range(3)]
    three = worst(*[Unit(f"cdu-{n}", 500_000, "liquid") for n in range(3)], *air)
    assert three["cooling zone row, liquid"].headroom_w == approx(184_000)
    assert three["cooling zone row, air"].headroom_w == approx(-24_000)  # the air side binds
    two = worst(*[Unit(f"cdu-{n}", 800_000, "liquid") for n in range(2)])
    assert two["cooling zone row, liquid"].headroom_w == approx(-16_000)
    assert cap_w(two["cooling zone row, liquid"].limit, "r0", 8) == 117_647


def test_cooling_binds_before_power_in_a_zone_of_four_racks():
    racks = ("r0", "r1", "r2", "r3")
    found = limits(
        rack_limits_w={},
        feeds=[feed for rack in racks for feed in feeds(rack, "A", "B")],
        zones=[Zone("z", racks, tuple(Unit(f"c{n}", 30_000) for n in range(5)))],
        failure_states=LOST,
    )
    twelve = headroom(found, dict.fromkeys(racks, 3 * NODE_W))
    bound = binding(twelve, "r0")
    assert bound.limit.kind == "cooling" and bound.headroom_w == -2_400
    assert all(h.headroom_w > 0 for h in twelve if h.limit.kind == "feed")
    eleven = headroom(found, {**dict.fromkeys(racks, 3 * NODE_W), "r0": 2 * NODE_W})
    assert min(h.headroom_w for h in eleven) >= 0


def test_a_panel_binds_before_its_feeds():
    all_feeds = [Feed("A", f"r{n}", FEED_W, panel="P") for n in range(5)]
    found = site(*all_feeds, panels=[Panel("P", 100_000)], states=())
    nine = headroom(found, {"r0": 3 * NODE_W, "r1": 3 * NODE_W, "r2": 3 * NODE_W, "r3": 0.0, "r4": 0.0})
    assert min(h.headroom_w for h in nine) >= 0
    ten = headroom(found, {"r0": 3 * NODE_W, "r1": 3 * NODE_W, "r2": 3 * NODE_W, "r3": NODE_W, "r4": 0.0})
    over = [h.limit.kind for h in ten if h.headroom_w < 0]
    assert over == ["panel"]


def test_an_unknown_draw_is_never_read_as_fine():
    found = headroom(site(*feeds("r", "A", "B")), {})
    assert (found[0].headroom_w, found[0].unknown) == (None, ("r",))
    zone = limits(rack_limits_w={}, zones=[Zone("z", ("r", "s"), (Unit("c", 30_000),))])
    (at_least,) = headroom(zone, {"r": 3 * NODE_W, "s": None})
    assert (at_least.used_w, at_least.unknown) == (30_600, ("s",))
    assert at_least.headroom_w == -600  # what is known is too much already


@mark.parametrize("status", ["planned", "offline", "failed"])
def test_a_feed_that_is_down_is_the_lost_one(status):
    found = site(Feed("A", "r", FEED_W, is_active=False), Feed("B", "r", FEED_W))
    assert [(limit.state, limit.limit_w) for limit in found] == [("normal", FEED_W)]
    assert nodes_that_fit(found[0], "r", NODE_W) == 3


def test_an_unknown_failure_state_is_named():
    with raises(ValueError, match="'two_feeds_lost'; allowed: feed_lost"):
        limits(rack_limits_w={}, failure_states=("two_feeds_lost",))


RACKS = ("r0", "r1", "r2")


@st.composite
def sites(draw):
    all_feeds = [
        Feed(name, rack, draw(st.floats(1e3, 1e5)), panel=draw(st.sampled_from(["P", "Q", None])))
        for rack in RACKS
        for name in draw(st.sampled_from(["A", "AB", "ABC"]))
    ]
    units = tuple(Unit(f"c{n}", draw(st.floats(1e3, 1e5))) for n in range(draw(st.integers(1, 4))))
    draw_w = {rack: draw(st.floats(0, 1e5)) for rack in RACKS}
    panels = [Panel("P", draw(st.floats(1e4, 1e6))), Panel("Q", None)]
    return {"feeds": all_feeds, "panels": panels, "zones": [Zone("z", RACKS, units)]}, draw_w


@given(sites())
def test_a_promise_for_more_states_never_leaves_more_room(drawn):
    parts, draw_w = drawn

    def room(states):
        found = headroom(limits(rack_limits_w={}, failure_states=states, **parts), draw_w)
        return {rack: room_w(binding(found, rack), rack) for rack in RACKS}

    normal = room(())
    for more in (("feed_lost",), ("panel_lost",), ("cooling_unit_lost",), LOST):
        assert all(room(more)[rack] <= normal[rack] + 1e-6 for rack in RACKS)
