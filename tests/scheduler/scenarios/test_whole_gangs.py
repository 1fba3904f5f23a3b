"""A gang starts whole or not at all."""

from cluster.scheduler.words import Constraint
from tests.scheduler.worlds import Story


def test_of_two_gangs_that_want_the_whole_fleet_one_gets_all_of_it():
    world = Story(nodes=100, block=10, pod=50)
    lab = world.tenant("lab", guarantee=800)
    first, second = world.submit(lab, gpus=800, age_s=1), world.submit(lab, gpus=800)
    world.tick()
    assert sum(first.run.placement.values()) == 800
    assert second.run is None


def test_twenty_members_or_none():
    world = Story(nodes=20, gpus=1, block=20, pod=20)
    lab = world.tenant("lab", guarantee=20)
    world.running(lab, gpus=1, nodes=1, tier="production")
    gang = world.submit(lab, gpus=20, nodes=20, tier="production")
    world.advance(minutes=30)
    assert gang.is_queued and not world.replay.runs.get(gang.id)


def test_free_gpus_in_pieces_are_not_room_for_whole_nodes():
    world = Story(nodes=4)
    lab = world.tenant("lab", guarantee=64)
    for i in range(2):
        world.running(lab, gpus=4, on=[f"n{i}"], tier="production")
    wide = world.submit(lab, gpus=24, tier="production")
    world.tick()
    assert wide.why is Constraint.GANG_SIZE and wide.binding.unit == "node"
    assert (wide.binding.demand, wide.binding.limit, wide.binding.missing) == (3, 2, 1)
    assert "24 GPUs are free in pieces" in wide.says


def test_a_gang_is_counted_whole_against_the_quota():
    world = Story(nodes=2)
    lab = world.tenant("lab", guarantee=8, borrows=0)
    gang = world.submit(lab, gpus=16)
    world.tick()
    assert gang.why is Constraint.QUOTA
    assert (gang.binding.demand, gang.binding.limit) == (16, 8)


def test_two_gangs_of_one_tick_never_share_a_node():
    world = Story(nodes=2)
    a, b = world.tenant("a", guarantee=16), world.tenant("b", guarantee=16)
    both = [world.submit(a, gpus=16, age_s=1), world.submit(b, gpus=8)]
    world.tick()
    assert [gang.is_running for gang in both] == [True, False]


def test_a_preempted_gang_leaves_whole():
    world = Story(nodes=4)
    owner, guest = world.tenant("owner", guarantee=8), world.tenant("guest")
    loan = world.running(guest, gpus=32, tier="best_effort")
    wish = world.submit(owner, gpus=8, tier="production")
    world.advance(minutes=3)
    assert loan.is_queued and wish.is_running
    assert all(run.job_id != loan.id for run in world.replay.runs.values())
