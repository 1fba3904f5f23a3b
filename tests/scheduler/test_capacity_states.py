"""Every installed GPU is in exactly one of the eight states, and in the right one."""

from collections import Counter

from cluster.scheduler.capacity import Signal, State, classify, fits_now
from cluster.scheduler.fleet import NodeView
from tests.scheduler.worlds import HOUR, MODEL, Story

FIRM = {"tier": "production"}


def states(world: Story, signals=None, installed=None) -> dict[State, int]:
    snapshot = world.snapshot()
    installed = installed or {i: node.gpus for i, node in enumerate(snapshot.fleet.nodes)}
    totals: Counter[State] = Counter()
    for (state, _, _), gpus in classify(snapshot, signals or {}, snapshot.reservations, installed).items():
        totals[state] += gpus
    assert sum(totals.values()) == sum(installed.values())
    return dict(totals)


def test_an_allocated_gpu_starts_works_idles_or_is_unknown(world: Story):
    lab = world.tenant("lab", guarantee=64)
    starting, half, silent = (world.running(lab, gpus=8).run.id for _ in range(3))
    signals = {half: Signal(True, 6), silent: Signal(True, None), starting: Signal(False, 8)}
    assert states(world, signals) == {
        State.STARTING: 8,
        State.BUSY: 6,
        State.IDLE_ALLOCATED: 2,
        State.UNKNOWN_ALLOCATED: 8,
        State.PLACEABLE: 40,
    }


def test_a_run_that_was_told_to_stop_still_holds_its_gpus(world: Story):
    owner, guest = world.tenant("owner", guarantee=64), world.tenant("guest")
    loan = world.running(guest, gpus=64, tier="best_effort")
    world.submit(owner, gpus=64)
    world.tick()
    assert states(world, {loan.run.id: Signal(True, 64)}) == {State.BUSY: 64}


def test_free_gpus_that_no_waiting_gang_can_use_are_stranded():
    world = Story(nodes=4, placeable_gpus=8)
    lab = world.tenant("lab", guarantee=64)
    for node in ("n0", "n1"):
        world.running(lab, gpus=5, on=[node], lasts_s=HOUR, **FIRM)
    assert states(world) == {State.STARTING: 10, State.PLACEABLE: 16, State.STRANDED: 6}
    world.submit(lab, gpus=3, tier="best_effort")
    assert states(world) == {State.STARTING: 10, State.PLACEABLE: 22}


def test_what_a_gang_gathers_is_reserved_and_not_idle():
    world = Story(nodes=4, reserve_after_s=0.0)
    lab = world.tenant("lab", guarantee=64)
    world.running(lab, gpus=16, lasts_s=HOUR, **FIRM)
    world.submit(lab, gpus=32, **FIRM)
    world.tick()
    assert states(world) == {State.STARTING: 16, State.RESERVED: 16}


def test_nodes_out_of_service_are_unavailable_but_what_runs_there_runs(world: Story):
    lab = world.tenant("lab", guarantee=64)
    running = world.running(lab, gpus=4, on=["n0"])
    world.drain("n0", "n1")
    assert states(world, {running.run.id: Signal(True, 4)}) == {
        State.BUSY: 4,
        State.UNAVAILABLE: 12,
        State.PLACEABLE: 48,
    }


def test_gpus_that_failed_count_as_installed_and_unavailable():
    world = Story([NodeView("n0", MODEL, 6, "b", "p")], placeable_gpus=1)
    lab = world.tenant("lab", guarantee=8)
    assert states(world, installed={0: 8}) == {State.PLACEABLE: 6, State.UNAVAILABLE: 2}
    world.running(lab, gpus=8, on=["n0"], members=((1, 8),))  # it began when all eight were healthy
    assert states(world, installed={0: 8}) == {State.STARTING: 8}


def test_how_many_gangs_fit_is_another_number_than_how_many_gpus_are_free():
    world = Story(nodes=4)
    lab = world.tenant("lab", guarantee=64)
    for node in ("n0", "n1"):
        world.running(lab, gpus=4, on=[node])
    supply = world.replay.holdings.supply
    assert supply.free_gpus(MODEL) == 24
    assert [fits_now(supply, gpus, MODEL) for gpus in (4, 8, 16, 24)] == [6, 2, 1, 0]
