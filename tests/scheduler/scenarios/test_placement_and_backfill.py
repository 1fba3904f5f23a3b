"""Gangs stay together without breaking what larger ones need; backfill never delays what is reserved."""

from cluster.scheduler.fleet import NodeView
from cluster.scheduler.words import Constraint
from tests.scheduler.worlds import MODEL, Story


def test_two_members_that_fit_anywhere_leave_the_large_node_alone():
    nodes = [NodeView(f"n{i}", MODEL, gpus, "b", "p") for i, gpus in enumerate((2, 1, 1))]
    world = Story(nodes)
    lab = world.tenant("lab", guarantee=4)
    pair = world.submit(lab, gpus=2, nodes=2, age_s=10)
    whole = world.submit(lab, gpus=2, nodes=1)
    world.tick()
    assert pair.nodes == {"n1", "n2"} and whole.nodes == {"n0"}


def test_when_the_tightest_block_does_not_do_the_next_is_taken():
    nodes = [NodeView("small", MODEL, 1, "tight", "p")] + [
        NodeView(f"w{i}", MODEL, 1, "wide", "p") for i in (1, 2)
    ]
    world = Story(nodes)
    lab = world.tenant("lab", guarantee=3)
    pair = world.submit(lab, gpus=2, nodes=2, within="block")
    world.tick()
    assert pair.nodes == {"w1", "w2"}


def test_small_jobs_fill_one_rack_before_they_open_the_next():
    world = Story(nodes=8, gpus=4, block=4, pod=8)
    lab = world.tenant("lab", guarantee=32)
    small = [world.submit(lab, gpus=1) for _ in range(8)]
    world.tick()
    assert {world.fleet.nodes[i].block for gang in small for i in gang.run.placement} == {"n-block0"}
    assert len({i for gang in small for i in gang.run.placement}) == 2


def test_a_gang_that_fits_but_not_close_enough_is_told_so():
    world = Story(nodes=4, block=2, pod=4)
    lab = world.tenant("lab", guarantee=32)
    for node in ("n0", "n2"):
        world.running(lab, gpus=8, on=[node], tier="production")
    pair = world.submit(lab, gpus=16, within="block", tier="production")
    world.tick()
    assert pair.why is Constraint.TOPOLOGY
    assert (pair.binding.demand, pair.binding.limit, pair.binding.unit) == (16, 8, "GPU")
    assert any(hint.kind == "topology" for hint in pair.hints)


def test_a_head_that_cannot_start_still_reserves():
    world = Story(nodes=4, reserve_after_s=0.0)
    lab = world.tenant("lab", guarantee=64)
    world.running(lab, gpus=8, tier="production", lasts_s=1800)
    head = world.submit(lab, gpus=32, tier="production", age_s=100)
    world.tick()
    assert head.reservation is not None and head.reservation.ready_s == 1800.0
    late = world.submit(lab, gpus=8, tier="production", lasts_s=7200)
    world.advance(minutes=25)
    assert late.is_queued and late.why is Constraint.RESERVATION
    world.advance(minutes=6)
    assert head.is_running


def test_no_later_start_moves_a_reservation_back():
    world = Story(nodes=4, reserve_after_s=0.0)
    lab = world.tenant("lab", guarantee=64)
    world.running(lab, gpus=16, tier="production", lasts_s=3600)
    head = world.submit(lab, gpus=32, tier="production", age_s=100)
    world.tick()
    promised = head.reservation.bound_s
    for i in range(30):
        world.submit(lab, gpus=8, tier="best_effort", lasts_s=600 + 60 * i)
        world.advance(minutes=2)
        if head.is_running:
            break
        assert head.reservation.bound_s <= promised
    assert head.is_running and head.work.start_s <= promised


def test_backfill_is_preemptible_and_out_in_time_even_if_it_overruns():
    world = Story(nodes=4, reserve_after_s=0.0)
    lab = world.tenant("lab", guarantee=64)
    world.running(lab, gpus=16, tier="production", lasts_s=3600)
    head = world.submit(lab, gpus=32, tier="production", age_s=100)
    liar = world.submit(lab, gpus=16, tier="best_effort", lasts_s=90_000, expected_s=1200.0)
    world.advance(minutes=50)
    assert liar.is_running and liar.run.is_backfill and head.is_queued
    world.advance(minutes=13)
    assert head.is_running and liar.is_queued


def test_work_that_cannot_leave_in_time_does_not_enter_the_gap():
    world = Story(nodes=4, reserve_after_s=0.0)
    lab = world.tenant("lab", guarantee=64)
    world.running(lab, gpus=16, tier="production", lasts_s=600)
    world.submit(lab, gpus=32, tier="production", age_s=100)
    world.tick()
    stays = world.submit(lab, gpus=16, tier="production", lasts_s=60)
    slow = world.submit(lab, gpus=16, tier="best_effort", grace_s=900, lasts_s=7200)
    world.tick()
    assert stays.is_queued and slow.is_queued
    assert stays.why is Constraint.RESERVATION
