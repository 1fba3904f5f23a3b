"""Book what happened between two ticks at its own time: no tick has seen it, but the engine has told it.

A run that became ready is what the tick finds it to be, from its readiness on; one that has ended again is
unknown, for nobody has measured it. GPUs that a run has left stood free until now, and were of no use from
the moment their node took no work any more. A report may come late, after hours in which the engine did not
answer: then rows that are closed already are cut, too.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Q

from cluster.models import Allocation, CapacityState, Run, RunState, UsageInterval
from cluster.pipeline.observe import Observed
from cluster.pipeline.usage_book import Book, Key
from fleet.models import Node, NodeState

MEASURED = (CapacityState.BUSY, CapacityState.IDLE_ALLOCATED)
FREE = (CapacityState.PLACEABLE, CapacityState.STRANDED, CapacityState.RESERVED)


@dataclass
class Held:
    """A run that held GPUs at the last tick, with its open rows and the closed ones that are to be cut."""

    run: Run
    rows: list[UsageInterval]
    until: datetime
    """its end, or now"""

    @property
    def ended(self) -> bool:
        return self.run.state == RunState.ENDED


def write_past(book: Book, observed: Observed, gpus_now: Mapping[Key, int], last_at: datetime | None) -> None:
    """Cut the rows of the last tick where something has changed since, and add what followed."""
    if last_at is None:
        return
    held = _held(book)
    fresh = timedelta(seconds=observed.world.policy.activity_fresh_s)
    for it in held:
        _became_ready(book, it, gpus_now)
        if last_at + fresh < book.at:
            _fell_silent(book, it, last_at + fresh)
    _freed(book, [it for it in held if it.ended])
    _lost_while_free(book, held, last_at)


def _held(book: Book) -> list[Held]:
    by_run: dict[int, list[UsageInterval]] = defaultdict(list)
    for row in book.open.values():
        if row.run_id is not None:
            by_run[row.run_id].append(row)
    found = []
    for rows in by_run.values():
        run = rows[0].run
        until = run.ended_at if run.state == RunState.ENDED else book.at
        found.append(Held(run, rows, min(until, book.at)))
    _add_closed(found)
    return found


def _add_closed(held: Iterable[Held]) -> None:
    """Where a report has come late, the closed rows that are to be cut as well."""
    late = {it.run.pk: (it, since) for it in held if (since := _late_since(it)) is not None}
    if late:
        first = min(since for _, since in late.values())
        for row in UsageInterval.objects.filter(run_id__in=list(late), ended_at__gt=first):
            it, since = late[row.run_id]
            if row.ended_at > since:
                it.rows.append(row)


def _late_since(it: Held) -> datetime | None:
    """The moment we learn of now, if a row has been opened since: a tick that should have known."""
    begun = max(row.started_at for row in it.rows)
    ready_at = it.run.ready_at
    if ready_at is not None and any(row.state == CapacityState.STARTING for row in it.rows):
        moment = min(ready_at, it.until)
    else:
        moment = it.until
    return moment if moment < begun else None


def _became_ready(book: Book, it: Held, gpus_now: Mapping[Key, int]) -> None:
    ready_at = it.run.ready_at
    starting = [row for row in it.rows if row.state == CapacityState.STARTING]
    if ready_at is None or not starting or ready_at >= it.until:
        return
    like = starting[0]
    gpus, loan = like.gpus, like.loan_gpus
    for row in _reaching(starting, ready_at):
        book.end(row, ready_at)
    found = {key[0]: n for key, n in gpus_now.items() if key[2] == it.run.pk and key[0] != like.state}
    if it.ended or sum(found.values()) != gpus:
        found = {CapacityState.UNKNOWN_ALLOCATED.value: gpus}
    for state, n in found.items():
        book.past(like, state, n, ready_at, it.until, min(loan, n))
        loan -= min(loan, n)


def _fell_silent(book: Book, it: Held, silent_at: datetime) -> None:
    """The loop stood still for longer than an activity signal counts: what came after it is not known."""
    if silent_at >= it.until:
        return
    for row in [r for r in it.rows if r.ended_at is None and r.state in MEASURED]:
        book.end(row, silent_at)
        unknown = CapacityState.UNKNOWN_ALLOCATED
        book.past(row, unknown, row.gpus, max(silent_at, row.started_at), it.until, row.loan_gpus)


def _freed(book: Book, ended: list[Held]) -> None:
    if not ended:
        return
    gpus: dict[int, list[tuple[int, str, int]]] = defaultdict(list)
    left = Allocation.objects.filter(run_id__in=[it.run.pk for it in ended]).order_by()
    for run_id, *where in left.values_list("run_id", "node_id", "gpu__state").annotate(n=Count("id")):
        gpus[run_id].append(tuple(where))
    nodes = Node.objects.in_bulk({node_id for places in gpus.values() for node_id, _, _ in places})
    for it in ended:
        for row in _reaching(it.rows, it.until):
            book.end(row, it.until)
        for node_id, gpu_state, count in gpus[it.run.pk]:
            out_at = it.until if gpu_state != NodeState.ELIGIBLE else _out_since(nodes[node_id])
            middle = book.at if out_at is None else min(max(out_at, it.until), book.at)
            book.past(it.rows[0], CapacityState.PLACEABLE, count, it.until, middle)
            book.past(it.rows[0], CapacityState.UNAVAILABLE, count, middle, book.at)


def _out_since(node: Node) -> datetime | None:
    """Since when the node takes no work; None if it does."""
    return node.drain_asked_at if node.state == NodeState.ELIGIBLE else node.state_since


def _reaching(rows: Iterable[UsageInterval], moment: datetime) -> list[UsageInterval]:
    return [row for row in rows if row.ended_at is None or row.ended_at > moment]


def _lost_while_free(book: Book, held: Iterable[Held], last_at: datetime) -> None:
    """Free GPUs of a node that was lost since the last tick were of no use from then on."""
    lost = Node.objects.exclude(state=NodeState.ELIGIBLE).filter(
        state_since__gt=last_at, state_since__lt=book.at, drain_asked_at=None
    )
    sound = lost.annotate(sound=Count("gpus", filter=Q(gpus__state=NodeState.ELIGIBLE)))
    nodes = list(sound.order_by("state_since", "pk"))
    if not nodes:
        return
    runs = [it.run.pk for it in held]
    taken = dict(
        Allocation.objects.filter(run_id__in=runs, node__in=nodes)
        .order_by()
        .values_list("node_id")
        .annotate(n=Count("id"))
    )
    for node in nodes:
        _withdraw(book, node, node.sound - taken.get(node.pk, 0))


def _withdraw(book: Book, node: Node, gpus: int) -> None:
    for state in FREE:
        row = book.open.get((state.value, node.gpu_model_id, None))
        if row is None or gpus <= 0:
            continue
        take, moment = min(gpus, row.gpus), max(node.state_since, row.started_at)
        book.end(row, moment)
        if take < row.gpus:
            key = (state.value, node.gpu_model_id, None)
            book.begin(key, row.gpus - take, 0, row.usd_per_gpu_hour, start=moment)
        book.past(row, CapacityState.UNAVAILABLE, take, moment, book.at)
        gpus -= take
