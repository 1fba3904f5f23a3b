"""Does it fit, and where: against brute force, and in small pictures."""

from random import Random

from hypothesis import given, settings

from cluster.scheduler.fleet import Fleet, NodeView, members_of
from cluster.scheduler.supply import Supply
from cluster.scheduler.words import Locality, Tier
from cluster.scheduler.world import Shape, World
from tests.scheduler.independent import gang_fits
from tests.scheduler.random_worlds import SEEDS, any_fleet, any_shape
from tests.scheduler.worlds import MODEL, nodes_in_blocks

often = settings(max_examples=300, deadline=None)


def any_supply(seed: int) -> tuple[Fleet, Supply, Shape, World]:
    """Some of each node is taken, of some more than is healthy."""
    rng = Random(seed)
    fleet = any_fleet(rng)
    free = [rng.randint(0, node.gpus) for node in fleet.nodes]
    supply = Supply(fleet, [node.gpus for node in fleet.nodes])
    supply.withdraw({i: node.gpus - free[i] for i, node in enumerate(fleet.nodes)})
    broken = rng.randrange(len(fleet.nodes))
    supply.withdraw({broken: free[broken] + 1})
    shape = any_shape(rng, fleet, ["t0"])
    return fleet, supply, shape, World(0.0, fleet, {}, {}, {})


@often
@given(SEEDS)
def test_it_fits_exactly_when_brute_force_finds_a_node_for_every_member(seed):
    _, supply, shape, world = any_supply(seed)
    free = dict(enumerate(supply.free))
    assert supply.fits(shape.members, shape.model, shape.required) == gang_fits(world, shape, free)


@often
@given(SEEDS)
def test_whatever_fits_is_placed_on_distinct_nodes_with_room_and_close_enough(seed):
    fleet, supply, shape, _ = any_supply(seed)
    placement = supply.place(shape.members, shape.model, shape.required)
    assert (placement is not None) == supply.fits(shape.members, shape.model, shape.required)
    if placement is None:
        return
    assert sorted(placement.values()) == sorted(g for count, g in shape.members for _ in range(count))
    assert all(0 < gpus <= supply.free[index] for index, gpus in placement.items())
    nodes = [fleet.nodes[index] for index in placement]
    assert {node.model for node in nodes} == {shape.model} and all(node.usable for node in nodes)
    spread = {Locality.NODE: len(nodes), Locality.BLOCK: len({n.block for n in nodes})}
    spread |= {Locality.POD: len({n.pod for n in nodes}), Locality.CLUSTER: 1}
    assert spread[shape.required] == 1


@often
@given(SEEDS)
def test_a_gang_that_fits_into_one_block_or_pod_is_not_spread_over_two(seed):
    fleet, supply, shape, _ = any_supply(seed)
    placement = supply.place(shape.members, shape.model, Locality.CLUSTER)
    if placement is not None:
        for level, name in ((Locality.BLOCK, "block"), (Locality.POD, "pod")):
            if supply.fits(shape.members, shape.model, level):
                assert len({getattr(fleet.nodes[i], name) for i in placement}) == 1


@often
@given(SEEDS)
def test_taking_and_giving_back_leaves_all_counts_as_they_were(seed):
    _, supply, shape, _ = any_supply(seed)
    placement = supply.place(shape.members, shape.model, Locality.CLUSTER)
    if placement is not None:
        twin = supply.copy()
        twin.take(placement)
        assert twin.free_gpus(shape.model) == supply.free_gpus(shape.model) - shape.gpus
        twin.give(placement)
        assert (twin.free, twin.counts, twin.total) == (supply.free, supply.counts, supply.total)


@often
@given(SEEDS)
def test_a_shortfall_is_what_would_have_to_come_free(seed):
    fleet, supply, shape, _ = any_supply(seed)
    domains = fleet.at(shape.model, shape.required)
    short = supply.shortfall(shape.members, domains, shape.required is Locality.NODE)
    assert (short is None) == supply.fits(shape.members, shape.model, shape.required)
    if short is not None:
        assert short.missing > 0 and short.found >= 0
        if shape.required is not Locality.NODE or shape.node_count == 1:
            assert short.found == supply.count(short)


def supply_of(*free: int, block: int = 2) -> Supply:
    return Supply(Fleet(nodes_in_blocks(len(free), block=block, pod=4)), free)


def test_a_part_of_a_node_goes_where_it_leaves_the_least():
    assert supply_of(8, 4, 3, 8).place(((1, 3),), MODEL, Locality.CLUSTER) == {2: 3}


def test_the_tightest_block_that_holds_the_gang_is_used_up_first():
    # Block 0 has two whole nodes, block 1 has three: a pair leaves the larger one whole.
    supply = Supply(Fleet(nodes_in_blocks(6, block=3, pod=6)), [8, 8, 0, 8, 8, 8])
    assert supply.place(((2, 8),), MODEL, Locality.CLUSTER) == {0: 8, 1: 8}


def test_a_gang_larger_than_a_block_takes_as_few_blocks_as_it_can():
    supply = Supply(Fleet(nodes_in_blocks(9, block=3, pod=9)), [8, 0, 0, 8, 8, 8, 8, 8, 0])
    placement = supply.place(((5, 8),), MODEL, Locality.CLUSTER)
    assert set(placement) == {3, 4, 5, 6, 7}


def test_members_of_two_sizes_stand_on_distinct_nodes():
    assert supply_of(8, 4).place(((1, 8), (1, 4)), MODEL, Locality.CLUSTER) == {0: 8, 1: 4}
    assert supply_of(8, 3).place(((1, 8), (1, 4)), MODEL, Locality.CLUSTER) is None


def test_a_node_whose_gpus_failed_under_a_run_gives_back_only_the_healthy_ones():
    fleet = Fleet([NodeView("n0", MODEL, 6, "b", "p")])
    supply = Supply(fleet, [6])
    supply.withdraw({0: 8})  # the run began when all eight were healthy
    assert supply.free_gpus(MODEL) == 0
    supply.give({0: 8})
    assert supply.free_gpus(MODEL) == 6


def test_nodes_that_take_no_work_have_nothing_free_and_get_nothing_back():
    fleet = Fleet([NodeView("n0", MODEL, 8, "b", "p", usable=False, why_not="repair")])
    supply = Supply(fleet, [8])
    supply.give({0: 8})
    assert supply.free_gpus(MODEL) == 0
    assert Supply(fleet, [8], unusable_too=True).free_gpus(MODEL) == 8


def test_a_gang_in_numbers():
    assert members_of(20, 8) == ((2, 8), (1, 4))
    assert members_of(16, 8) == ((2, 8),)
    assert members_of(5, 8) == ((1, 5),)
    assert members_of(12, 8, nodes=3) == ((3, 4),)


def test_shapes_with_equal_arithmetic_are_equal():
    one = Shape("t", Tier.RESEARCH, MODEL, ((2, 8),))
    assert one == Shape("t", Tier.RESEARCH, MODEL, ((2, 8),)) and one.gpus == 16 and one.node_count == 2
