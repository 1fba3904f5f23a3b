"""Where every GPU was, exactly: at its own time, under its own state, for its own tenant, and in dollars."""

from collections import Counter
from datetime import timedelta
from decimal import Decimal

import pytest
from django.core.management import CommandError, call_command

from cluster.models import CapacityState, RunState, SimulatedGang, UsageInterval
from cluster.pipeline.recount import drifts
from cluster.selectors.capacity import capacity_now
from cluster.selectors.usage import usage_of
from cluster.services.cancel_job import cancel_job
from cluster.services.drain_node import drain_node
from fleet.models import Gpu, GpuModel, Node, NodeState
from tests.factories import T0
from tests.pipeline.audit import assert_usage_is_exact


@pytest.fixture
def crowd(tiny):
    return tiny.tenant("crowd", gpus=128)


def booked(run, state: str = "") -> float:
    """GPU-seconds of a run, up to now as far as rows are closed."""
    rows = UsageInterval.objects.filter(run=run, ended_at__isnull=False)
    rows = rows.filter(state=state) if state else rows
    return sum(row.gpus * (row.ended_at - row.started_at).total_seconds() for row in rows)


def stretches(state: str, **more):
    """(start, end, GPUs) of all rows in this state, oldest first."""
    rows = UsageInterval.objects.filter(state=state, **more).order_by("started_at", "id")
    return [(row.started_at, row.ended_at, row.gpus) for row in rows]


def test_a_run_is_starting_until_it_was_ready_and_busy_until_it_had_ended(tiny, crowd):
    job = tiny.running(crowd, gpus=16, expected_duration_s=1000)
    run = tiny.run_of(job)
    tiny.advance(1200, every_s=240)
    run = tiny.fresh(run)

    assert booked(run, "starting") == pytest.approx(16 * (run.ready_at - run.planned_at).total_seconds())
    assert booked(run, "busy") == pytest.approx(16 * 1000)
    assert booked(run) == pytest.approx(16 * (run.ended_at - run.planned_at).total_seconds())


def test_idle_and_silent_gangs_are_never_booked_as_busy(tiny, crowd):
    idle = tiny.running(crowd, gpus=16, workload={"idle_from": 0.0, "idle_to": 1.0, "idle_busy_share": 0.25})
    silent = tiny.running(crowd, gpus=8, workload={"silent": True})
    tiny.advance(1200, every_s=300)

    states = {
        job.pk: set(UsageInterval.objects.filter(job=job).values_list("state", "gpus"))
        for job in (idle, silent)
    }
    assert states[idle.pk] == {("starting", 16), ("busy", 4), ("idle_allocated", 12)}
    assert states[silent.pk] == {("starting", 8), ("unknown_allocated", 8)}


def test_a_signal_that_has_grown_old_is_unknown(tiny, crowd):
    job = tiny.running(crowd, gpus=8)
    tiny.advance(120)
    assert capacity_now().gpus[CapacityState.BUSY] == 8
    run = tiny.run_of(job)
    gang = SimulatedGang.objects.get(launch_key=run.launch_key)
    gang.spec["workload"]["silent"] = True
    gang.save()
    heard_at = run.activity_at
    tiny.advance(200)
    assert capacity_now().gpus[CapacityState.BUSY] == 8, "200 s old is still fresh"
    tiny.advance(200)

    assert tiny.fresh(run).activity_at == heard_at
    assert capacity_now().gpus[CapacityState.BUSY] == 0
    assert capacity_now().gpus[CapacityState.UNKNOWN_ALLOCATED] == 8


def test_a_loop_that_stood_still_does_not_know_what_was_busy_meanwhile(tiny, crowd):
    job = tiny.running(crowd, gpus=8, expected_duration_s=90_000)
    last_tick = tiny.now
    tiny.advance(7200)

    assert stretches("unknown_allocated", job=job) == [(last_tick + timedelta(seconds=300), tiny.now, 8)]
    assert stretches("busy", job=job)[-1] == (tiny.now, None, 8)


def test_several_runs_that_end_between_two_ticks_each_end_at_their_own_time(tiny, crowd):
    jobs = [tiny.submit(crowd, gpus=8, expected_duration_s=200 + 100 * n) for n in range(6)]
    tiny.tick()
    runs = [tiny.run_of(job) for job in jobs]
    tiny.advance(120)
    tiny.advance(900, every_s=300)

    for n, run in enumerate(map(tiny.fresh, runs)):
        assert booked(run, "busy") == pytest.approx(8 * (200 + 100 * n))
    ends = sorted(run.ended_at for run in runs)
    freed = [start for start, _, _ in stretches("placeable") if start in ends]
    assert freed == ends


def test_a_run_that_was_ready_and_over_between_two_ticks_was_measured_by_nobody(tiny, crowd):
    job = tiny.submit(crowd, gpus=8, expected_duration_s=100)
    tiny.tick()
    run = tiny.run_of(job)
    tiny.advance(600)

    assert tiny.fresh(run).state == RunState.ENDED
    assert booked(run, "unknown_allocated") == pytest.approx(800)
    assert booked(run, "busy") == 0


def test_gpus_of_a_lost_node_are_unavailable_from_the_loss_on_and_the_others_placeable(tiny, crowd):
    job = tiny.running(crowd, gpus=12)  # all of one node, half of another
    placed = Counter(tiny.run_of(job).allocations.values_list("node__name", flat=True))
    half = next(name for name, gpus in placed.items() if gpus == 4)
    tiny.move(100)
    tiny.lose(half)
    lost_at = tiny.now
    tiny.advance(200)

    out = stretches("unavailable")
    # four that it ran on, four that were free there: both from the loss to the tick; all eight from then on
    assert sorted(out) == sorted([(lost_at, tiny.now, 4), (lost_at, tiny.now, 4), (tiny.now, None, 8)])
    assert (lost_at, tiny.now, 8) in stretches("placeable")


def test_gpus_of_a_drained_node_are_unavailable_once_its_run_has_left(tiny, crowd):
    job = tiny.running(crowd, gpus=8, expected_duration_s=600)
    run = tiny.run_of(job)
    node = run.allocations.first().node
    drain_node(by=tiny.owner, node=node, reason="firmware")
    tiny.tick()
    assert stretches("unavailable") == []
    tiny.advance(1200)

    assert stretches("unavailable")[0] == (tiny.fresh(run).ended_at, tiny.now, 8)


def test_the_identity_holds_across_everything_that_happens(tiny, crowd):
    """Each tick is audited; here, as much as possible happens between two of them."""
    jobs = [tiny.submit(crowd, gpus=8, expected_duration_s=150 * (n + 1)) for n in range(8)]
    tiny.tick()
    for second in range(0, 1500, 250):
        tiny.move(130)
        if second == 250:
            cancel_job(by=tiny.owner, job=jobs[7])
        if second == 500:
            tiny.lose("p2b2n1", repair_s=400)
            drain_node(by=tiny.owner, node=Node.objects.get(name="p1b1n2"), reason="fan")
        if second == 750:
            Gpu.objects.filter(node__name="p1b1n1", index=0).update(state=NodeState.QUARANTINE)
        assert sum(UsageInterval.objects.filter(ended_at=None).values_list("gpus", flat=True)) == 64
        tiny.advance(120)
        tiny.submit(crowd, gpus=8)
    window = usage_of(T0, tiny.now)
    assert window.hours_of() == pytest.approx(64 * (tiny.now - T0).total_seconds() / 3600, rel=1e-12)


def test_two_ticks_at_one_moment_leave_no_rows_without_length(tiny, crowd):
    tiny.tick()
    job = tiny.submit(crowd, gpus=8)
    tiny.tick()
    cancel_job(by=tiny.owner, job=job)
    tiny.tick()
    tiny.tick()
    tiny.advance(60)

    assert not UsageInterval.objects.filter(run__job=job, started_at=T0, ended_at=T0).exists()
    assert_usage_is_exact()


def test_waste_is_priced_at_the_models_rate_and_a_new_rate_counts_from_now_on(tiny, crowd):
    tiny.running(crowd, gpus=16, workload={"idle_from": 0.0, "idle_to": 1.0})
    tiny.advance(480, every_s=240)
    changed_at = tiny.now
    GpuModel.objects.update(usd_per_gpu_hour=Decimal("3.5"))
    tiny.tick()
    tiny.advance(600, every_s=300)

    assert capacity_now().wasted_usd_per_hour == 16 * Decimal("3.5")
    ready_at = UsageInterval.objects.filter(state="idle_allocated").earliest("started_at").started_at
    before, after = (changed_at - ready_at).total_seconds(), 600
    expected = 16 * (before * 2.0 + after * 3.5) / 3600
    assert usage_of(T0, tiny.now).wasted_usd == pytest.approx(expected)


def test_loans_are_counted_to_the_borrower(lab):
    tiny = lab.tiny
    tiny.running(lab.vision, gpus=32)
    loan = tiny.running(lab.vision, gpus=16)
    tiny.advance(600, every_s=300)

    of_loan = UsageInterval.objects.filter(job=loan)
    assert {row.loan_gpus for row in of_loan} == {16}
    run = tiny.run_of(loan)
    hours = 16 * (tiny.now - run.planned_at).total_seconds() / 3600
    assert usage_of(T0, tiny.now).loan_gpu_hours[lab.vision.pk] == pytest.approx(hours)


def test_a_recount_finds_what_is_booked_wrong(tiny, crowd):
    job = tiny.running(crowd, gpus=8)
    call_command("recount")
    UsageInterval.objects.filter(job=job, state="starting").update(gpus=7)

    (drift,) = drifts(since=T0)
    assert drift.run.job == job and drift.booked_gpu_s < drift.held_gpu_s
    with pytest.raises(CommandError, match="1 runs are not booked as they held GPUs"):
        call_command("recount")
    UsageInterval.objects.filter(job=job, state="starting").update(gpus=8)
