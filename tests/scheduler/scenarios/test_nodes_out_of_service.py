"""Nodes that fail, are drained or come back: who waits for what, and who is left alone."""

from cluster.scheduler.words import Constraint
from tests.scheduler.worlds import HOUR, Story

FIRM = {"tier": "production"}


def test_a_head_that_needs_a_node_out_of_service_says_so_and_holds_up_nobody():
    world = Story(nodes=4, reserve_after_s=0.0)
    lab = world.tenant("lab", guarantee=64)
    world.drain("n3", why="repair")
    head = world.submit(lab, gpus=32, age_s=900, **FIRM)
    other = world.submit(lab, gpus=16, lasts_s=9 * HOUR, **FIRM)
    world.tick()
    assert head.why is Constraint.NODE_HEALTH and "n3 (repair)" in head.says
    assert head.reservation is None and other.is_running


def test_when_the_node_is_back_the_head_goes_on():
    world = Story(nodes=4, reserve_after_s=0.0)
    lab = world.tenant("lab", guarantee=64)
    world.drain("n3")
    head = world.submit(lab, gpus=32, age_s=900, **FIRM)
    world.tick()
    world.resume("n3")
    world.tick()
    assert head.is_running


def test_a_drain_leaves_what_runs_there_alone_and_starts_nothing_new_there():
    world = Story(nodes=2)
    lab = world.tenant("lab", guarantee=16)
    running = world.running(lab, gpus=8, on=["n0"], lasts_s=HOUR)
    world.drain("n0")
    waiting = [world.submit(lab, gpus=4) for _ in range(3)]
    world.advance(minutes=5)
    assert running.is_running and world.evicted == []
    assert [gang.nodes for gang in waiting] == [{"n1"}, {"n1"}, set()]


def test_only_gangs_with_a_member_on_the_failed_node_are_halted():
    world = Story(nodes=3)
    lab = world.tenant("lab", guarantee=64)
    hit = world.running(lab, gpus=16, on=["n0", "n1"], lasts_s=9 * HOUR)
    spared = world.running(lab, gpus=8, on=["n2"], lasts_s=9 * HOUR)
    world.lose("n0")
    assert hit.is_queued and spared.is_running


def test_a_gang_that_lost_a_node_comes_back_whole_and_before_younger_fillers():
    world = Story(nodes=2)
    lab = world.tenant("lab", guarantee=64)
    gang = world.running(lab, gpus=16, since_s=HOUR, lasts_s=9 * HOUR)
    filler = world.submit(lab, gpus=8, lasts_s=HOUR)
    world.lose("n0")
    world.tick()
    assert filler.is_running and gang.is_queued  # half of it may not run, and somebody may meanwhile
    world.resume("n0")
    for _ in range(3):
        world.submit(lab, gpus=8, lasts_s=5 * HOUR)
    world.advance(minutes=65)
    assert gang.is_running and len(gang.nodes) == 2


def test_every_rack_is_tried_for_the_replacement():
    world = Story(nodes=6, block=2, pod=6)
    lab = world.tenant("lab", guarantee=64)
    gang = world.running(lab, gpus=16, on=["n0", "n1"], within="block", lasts_s=9 * HOUR)
    world.running(lab, gpus=8, on=["n2"], lasts_s=9 * HOUR, **FIRM)
    world.lose("n0")
    world.tick()
    assert gang.nodes == {"n4", "n5"}


def test_what_is_leaving_is_not_idle():
    world = Story(nodes=1)
    owner, guest = world.tenant("owner", guarantee=8), world.tenant("guest")
    world.running(guest, gpus=8, tier="best_effort", grace_s=300)
    wish = world.submit(owner, gpus=8)
    filler = world.submit(guest, gpus=1, tier="best_effort")
    for _ in range(9):
        world.advance(seconds=30)
        assert wish.is_queued and filler.is_queued
    world.advance(seconds=60)
    assert wish.is_running
