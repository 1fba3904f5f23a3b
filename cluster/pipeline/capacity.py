"""Keep the usage intervals: close what has changed, open what is new, at the moment it happened.

The open rows are the partition of all installed GPUs; a change is written as an end and a beginning at one
and the same moment, so GPU-seconds over any window sum to installed × window exactly.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.db import transaction
from django.db.models import Count

from cluster.models import Run
from cluster.pipeline.observe import Observed
from cluster.pipeline.usage_book import Book, Key
from cluster.pipeline.usage_past import write_past
from cluster.scheduler.capacity import Cell, Signal, State, classify
from cluster.scheduler.draft import Draft
from cluster.scheduler.preemption import loans_of
from cluster.scheduler.world import World
from fleet.models import GpuModel, Node


@dataclass(frozen=True, slots=True)
class Held:
    """The content of one usage row."""

    gpus: int
    loan_gpus: int
    usd_per_gpu_hour: Decimal


@transaction.atomic
def record_usage(observed: Observed, last_at: datetime | None) -> dict[State, int]:
    """Write the capacity of this moment; `last_at` is that of the last tick. Gives GPUs by state."""
    cells = _cells(observed)
    wanted = _wanted(cells, observed.world)
    book = Book.opened(observed.at)
    gpus_now = {key: held.gpus for key, held in wanted.items()}
    write_past(book, observed, gpus_now, last_at)
    for key, row in list(book.open.items()):
        held = wanted.get(key)
        if held is None or held != Held(row.gpus, row.loan_gpus, row.usd_per_gpu_hour):
            book.end(row, observed.at)
    for key, held in wanted.items():
        if key not in book.open:
            book.begin(key, held.gpus, held.loan_gpus, held.usd_per_gpu_hour, observed.runs.get(key[2] or 0))
    book.write()
    totals: dict[State, int] = dict.fromkeys(State, 0)
    for (state, _, _), gpus in cells.items():
        totals[state] += gpus
    return totals


def _cells(observed: Observed) -> dict[Cell, int]:
    installed = dict(Node.objects.annotate(n=Count("gpus")).order_by().values_list("pk", "n"))
    by_index = {index: installed.get(pk, 0) for index, pk in enumerate(observed.node_ids)}
    fresh_s = observed.world.policy.activity_fresh_s
    signals = {run.pk: signal(run, observed.at, fresh_s) for run in observed.runs.values()}
    return classify(observed.world, signals, observed.world.reservations, by_index)


def signal(run: Run, at: datetime, fresh_s: float) -> Signal:
    """A signal that is missing or too old is unknown: neither busy nor idle."""
    fresh = run.activity_at is not None and at - run.activity_at <= timedelta(seconds=fresh_s)
    return Signal(run.ready_at is not None, run.activity_busy_gpus if fresh else None)


def _wanted(cells: Mapping[Cell, int], world: World) -> dict[Key, Held]:
    """The rows that should be open. A run's loan is spread over its states, the busy ones first."""
    models = {model.name: model for model in GpuModel.objects.all()}
    loans = loans_of(Draft(world))
    wanted: dict[Key, Held] = {}
    for (state, name, run_id), gpus in sorted(cells.items(), key=lambda c: list(State).index(c[0][0])):
        loan = min(gpus, loans.get(run_id, 0)) if run_id is not None else 0
        if run_id is not None and loan:
            loans[run_id] -= loan
        wanted[state.value, models[name].pk, run_id] = Held(gpus, loan, models[name].usd_per_gpu_hour)
    return wanted
