"""Our own CSV: one line a job, with as little as a replay needs.

Required: `tenant`, `gpus` (of the whole gang), `duration_s` (seconds it runs), and either `submit_time`
(seconds from the start of the trace) or `submitted_at` (a time such as 2026-03-01 08:00:00, with or without a
zone). Optional: `tier` (production, research, best_effort), `kind` (training, fine_tuning, eval), `user`,
`gpu_model`, `nodes` (the gang is spread evenly over so many), `name`. Any other column is refused, so that a
misspelt one is not silently ignored.
"""

from datetime import datetime
from pathlib import Path

from cluster.traces.helios import spread_of
from cluster.traces.notes import order_note
from cluster.traces.source import ZONE_OR_NOT, Cell, Row, Table
from cluster.traces.times import seconds_of
from cluster.traces.trace import Trace, TraceError, TraceJob

COLUMNS = ("tenant", "gpus", "duration_s")
TIMES = ("submit_time", "submitted_at")
OPTIONAL = ("tier", "kind", "user", "gpu_model", "nodes", "name")
TIERS = ("production", "research", "best_effort")
KINDS = ("training", "fine_tuning", "eval")


def read_csv(path: Path) -> Trace:
    """All rows of the file; not one is skipped, a mistake anywhere refuses the file."""
    table = Table(path, COLUMNS)
    _check_columns(table)
    jobs, start_at = _jobs(table)
    start_s = seconds_of(start_at) if start_at else 0.0
    clock = "Times carry no zone." if start_at and start_at.tzinfo is None else None
    notes = [f"Read {len(jobs):,} jobs.", clock, order_note([job.submit_s for job in jobs])]
    return Trace.of("csv", path, jobs, notes, start_s=start_s, start_at=start_at)


def _check_columns(table: Table) -> None:
    allowed = COLUMNS + TIMES + OPTIONAL
    for column in table.columns:
        if column not in allowed:
            raise TraceError(table.file, "unknown column", line=1, column=column, allowed=", ".join(allowed))
    if sum(time in table for time in TIMES) != 1:
        problem = "the header must have exactly one column of times"
        raise TraceError(table.file, problem, line=1, allowed=" or ".join(TIMES))


def _jobs(table: Table) -> tuple[list[TraceJob], datetime | None]:
    """The jobs on the file's clock, and its first moment (None when the file counts seconds)."""
    tenant, gpus, lasted = table.text("tenant"), table.whole("gpus", 1), table.seconds("duration_s")
    tier, kind = table.one_of("tier", TIERS), table.one_of("kind", KINDS)
    user, model, name = (table.text_or_none(column) for column in ("user", "gpu_model", "name"))
    nodes = table.whole_or_none("nodes", 1)
    clock = _Clock(table)
    jobs = []
    for row in table.rows():
        size = gpus(row)
        over, per_node = _spread(table, size, nodes(row))
        jobs.append(
            TraceJob(
                job_id=name(row) or f"line-{table.line}",
                tenant=tenant(row),
                user=user(row),
                submit_s=clock.read(row),
                gpus=size,
                nodes=over,
                gpus_per_node=per_node,
                gpu_model=model(row),
                duration_s=lasted(row),
                tier=tier(row),
                kind=kind(row),
            )
        )
    return jobs, clock.first


class _Clock:
    """Reads whichever column of times the file has, and remembers the first moment."""

    def __init__(self, table: Table) -> None:
        self.first: datetime | None = None
        self._table = table
        self.read: Cell[float]
        if "submitted_at" in table:
            self._moment = table.moment("submitted_at")
            self.read = self._read_moment
        else:
            self.read = table.seconds("submit_time")

    def _read_moment(self, row: Row) -> float:
        at = self._moment(row)
        if self.first is None:
            self.first = at
        if (at.tzinfo is None) != (self.first.tzinfo is None):
            raise self._table.error("submitted_at", str(at), ZONE_OR_NOT)
        self.first = min(self.first, at)
        return seconds_of(at)


def _spread(table: Table, gpus: int, nodes: int | None) -> tuple[int | None, int | None]:
    if nodes is None:
        return None, None
    over, per_node = spread_of(gpus, nodes)
    if over is None:
        raise table.error("nodes", str(nodes), f"a number that divides the {gpus} GPUs evenly")
    return over, per_node
