"""Keep the usage intervals: close what has changed, open what is new, at the moment it happened.

The open rows are the partition of all installed GPUs; a change is written as an end and a beginning at one and
the same moment, so GPU-seconds over any window sum to installed × window exactly.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Count

from cluster.models import Run, RunState, UsageInterval
from cluster.pipeline.observe import Observed
from cluster.scheduler.capacity import Cell, Signal, State, classify
from cluster.scheduler.draft import Draft
from cluster.scheduler.preemption import loans_of
from cluster.scheduler.world import ReservationView, World
from fleet.models import GpuModel, Node


@dataclass(frozen=True, slots=True)
class Held:
    """The content of one usage row."""

    gpus: int
    loan_gpus: int


Key = tuple[str, int, int | None]
"""(state, GPU model key, run key)"""


@transaction.atomic
def record_usage(observed: Observed, reservations: Mapping[int, ReservationView]) -> dict[State, int]:
    """Write the capacity of this moment. Gives GPUs by state."""
    at = observed.at
    models = {m.name: m for m in GpuModel.objects.all()}
    cells = _cells(observed, reservations)
    wanted = _wanted(cells, observed.world, models)
    rows = {
        (row.state, row.gpu_model_id, row.run_id): row for row in UsageInterval.objects.filter(ended_at=None)
    }
    _write(rows, wanted, observed, at, {m.pk: m for m in models.values()})
    totals: dict[State, int] = dict.fromkeys(State, 0)
    for (state, _, _), gpus in cells.items():
        totals[state] += gpus
    return totals


def _cells(observed: Observed, reservations: Mapping[int, ReservationView]) -> dict[Cell, int]:
    installed = dict(Node.objects.annotate(n=Count("gpus")).values_list("pk", "n"))
    by_index = {index: installed.get(pk, 0) for index, pk in enumerate(observed.node_ids)}
    fresh_s = observed.world.policy.activity_fresh_s
    signals = {run.pk: signal(run, observed.at, fresh_s) for run in observed.runs.values()}
    return classify(observed.world, signals, reservations, by_index)


def signal(run: Run, at: datetime, fresh_s: float) -> Signal:
    """A signal that is missing or too old is unknown: neither busy nor idle."""
    fresh = run.activity_at is not None and at - run.activity_at <= timedelta(seconds=fresh_s)
    return Signal(run.ready_at is not None, run.activity_busy_gpus if fresh else None)


def _wanted(cells: Mapping[Cell, int], world: World, models: Mapping[str, GpuModel]) -> dict[Key, Held]:
    """The rows that should be open. A run's loan is spread over its states, the busy ones first."""
    loans = loans_of(Draft(world))
    wanted: dict[Key, Held] = {}
    for (state, model, run_id), gpus in sorted(cells.items(), key=lambda c: list(State).index(c[0][0])):
        loan = min(gpus, loans.get(run_id, 0)) if run_id is not None else 0
        if run_id is not None and loan:
            loans[run_id] -= loan
        wanted[state.value, models[model].pk, run_id] = Held(gpus, loan)
    return wanted


def _write(
    rows: Mapping[Key, UsageInterval],
    wanted: Mapping[Key, Held],
    observed: Observed,
    at: datetime,
    models: Mapping[int, GpuModel],
) -> None:
    closed, fresh = [], []
    for key, row in rows.items():
        held = wanted.get(key)
        if held is None or (held.gpus, held.loan_gpus) != (row.gpus, row.loan_gpus):
            closed.append(row)
    ends = _change_times(closed, at)
    for row in closed:
        fresh += _between(row, ends[row.pk], at)
    for key, held in wanted.items():
        row = rows.get(key)
        if row is None or (held.gpus, held.loan_gpus) != (row.gpus, row.loan_gpus):
            fresh.append(_open(key, held, observed, at, models))
    _close(closed, ends)
    UsageInterval.objects.bulk_create(fresh)


def _change_times(closed: list[UsageInterval], at: datetime) -> dict[int, tuple[datetime, str | None]]:
    """When each row really ended, and the state its GPUs were in from then until now (None = none in between)."""
    runs = Run.objects.in_bulk({row.run_id for row in closed if row.run_id})
    return {row.pk: _end_of(row, runs.get(row.run_id), at) for row in closed}


def _end_of(row: UsageInterval, run: Run | None, at: datetime) -> tuple[datetime, str | None]:
    """A run that became ready or ended between two ticks did so at its own time, not at the tick's."""
    if run is None:
        return at, None
    if row.state == State.STARTING and run.ready_at is not None and row.started_at < run.ready_at < at:
        return run.ready_at, State.BUSY.value
    if run.state == RunState.ENDED and run.ended_at is not None and row.started_at < run.ended_at < at:
        return run.ended_at, State.PLACEABLE.value
    return at, None


def _between(row: UsageInterval, end: tuple[datetime, str | None], at: datetime) -> list[UsageInterval]:
    """The stretch from a change up to this tick, which no tick has seen.

    GPUs that a run has left stood free and could have been placed; a run that is ready works until its
    activity signal says otherwise. One that became ready *and* ended in between has both stretches.
    """
    moment, state = end
    if state is None:
        return []
    run = row.run
    stretches: list[tuple[str, datetime, datetime]] = [(state, moment, at)]
    if state == State.BUSY and run.ended_at is not None and moment < run.ended_at < at:
        stretches = [(state, moment, run.ended_at), (State.PLACEABLE.value, run.ended_at, at)]
    return [
        UsageInterval(
            state=kind,
            gpu_model_id=row.gpu_model_id,
            gpus=row.gpus,
            usd_per_gpu_hour=row.usd_per_gpu_hour,
            started_at=begin,
            ended_at=finish,
            **_holder(row if kind == State.BUSY else None),
        )
        for kind, begin, finish in stretches
    ]


def _holder(row: UsageInterval | None) -> dict[str, object]:
    if row is None:
        return {}
    return {
        "tenant_id": row.tenant_id,
        "job_id": row.job_id,
        "run_id": row.run_id,
        "loan_gpus": row.loan_gpus,
    }


def _open(
    key: Key, held: Held, observed: Observed, at: datetime, models: Mapping[int, GpuModel]
) -> UsageInterval:
    state, model_id, run_id = key
    run = observed.runs.get(run_id) if run_id is not None else None
    return UsageInterval(
        state=state,
        gpu_model_id=model_id,
        run_id=run_id,
        job_id=run.job_id if run else None,
        tenant_id=run.job.tenant_id if run else None,
        gpus=held.gpus,
        loan_gpus=held.loan_gpus,
        usd_per_gpu_hour=models[model_id].usd_per_gpu_hour,
        started_at=at,
    )


def _close(closed: list[UsageInterval], ends: Mapping[int, tuple[datetime, str | None]]) -> None:
    """A row that would have no length never was: it is taken away."""
    empty = [row.pk for row in closed if ends[row.pk][0] <= row.started_at]
    UsageInterval.objects.filter(pk__in=empty).delete()
    kept = [row for row in closed if row.pk not in set(empty)]
    for row in kept:
        row.ended_at = ends[row.pk][0]
    UsageInterval.objects.bulk_update(kept, ["ended_at"], batch_size=500)
