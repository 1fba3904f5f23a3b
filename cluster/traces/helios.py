"""Helios (SenseTime, 2020) `cluster_log.csv`; Acme (Shanghai AI Lab, 2023) `trace_seren`, `trace_kalos.csv`.

The columns are alike: gpu_num, node_num, state, submit_time, start_time, end_time, duration, queue. Helios
has virtual clusters (`vc`) and times without a zone; Acme a workload `type`, no tenant, and times with one.
Data: CC-BY-4.0, Q. Hu et al., SC '21 and NSDI '24. The recoded Venus cut is read by `helios_recoded`.
"""

from datetime import datetime
from pathlib import Path

from cluster.traces.notes import UNEVEN, Tally, order_note
from cluster.traces.source import ZONE_OR_NOT, Row, Table
from cluster.traces.times import seconds_of
from cluster.traces.trace import Trace, TraceJob

COLUMNS = (
    "job_id",
    "user",
    "gpu_num",
    "node_num",
    "state",
    "submit_time",
    "start_time",
    "end_time",
    "duration",
)
STATES = ("COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "SUSPENDED")
VC_IS_TENANT = "The tenant is the virtual cluster."

# Acme's workload types in our three kinds; what is not listed has none.
KINDS = {
    "pretrain": "training",
    "mllm": "training",
    "sft": "fine_tuning",
    "eval": "eval",
    "evaluation": "eval",
}


def read_log(path: Path) -> Trace:
    """GPU jobs of a Helios or Acme log; CPU jobs are skipped and counted.

    Run time is end - start, the published rule. `duration` is compared with it and used only where a time is
    missing, because in Acme's Kalos it was published as end - submit.
    """
    reader = _LogReader(Table(path, COLUMNS))
    jobs = reader.jobs()
    start_s = reader.start_s if jobs else 0.0
    return Trace.of("helios", path, jobs, reader.notes(), start_s=start_s, start_at=reader.start_at)


def spread_of(gpus: int, nodes: int) -> tuple[int | None, int | None]:
    """Nodes and GPUs per node when the GPUs divide evenly; else (None, None): only the sum is asked for."""
    return (nodes, gpus // nodes) if nodes and gpus % nodes == 0 else (None, None)


class _LogReader:
    """Turns rows into jobs on the file's own clock, and keeps count of everything worth saying."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.acme = "vc" not in table
        self._job_id, self._user = table.text("job_id"), table.text_or_none("user")
        self._tenant = (lambda row: "acme") if self.acme else table.text("vc")
        self._state, self._type = table.one_of("state", STATES), table.text_or_none("type")
        self._gpus, self._nodes = table.whole("gpu_num"), table.whole("node_num")
        self._submit, self._start = table.moment("submit_time"), table.moment_s_or_none("start_time")
        self._end, self._duration = table.moment_s_or_none("end_time"), table.seconds_or_none("duration")
        self.skipped, self.noted = Tally(), Tally()
        self.submits: list[float] = []
        self.zones: set[str] = set()
        self.start_s = float("inf")
        self.start_at: datetime | None = None
        self.rows = 0

    def jobs(self) -> list[TraceJob]:
        return [job for row in self.table.rows() if (job := self._job(row)) is not None]

    def _job(self, row: Row) -> TraceJob | None:
        """None when the row is skipped."""
        self.rows += 1
        gpus = self._gpus(row)
        if gpus == 0:
            self.skipped.add("no GPUs asked for", self.table.line)
            return None
        moment = self._submit(row)
        submit_s = seconds_of(moment)
        lasted = self._run_time(row, submit_s)
        if lasted is None:
            return None
        self._remember(moment, submit_s)
        nodes, per_node = spread_of(gpus, self._nodes(row))
        if nodes is None:
            self.noted.add(UNEVEN, self.table.line)
        return TraceJob(
            job_id=self._job_id(row),
            tenant=self._tenant(row),
            user=self._user(row),
            submit_s=submit_s,
            gpus=gpus,
            nodes=nodes,
            gpus_per_node=per_node,
            duration_s=lasted,
            kind=self._kind(row),
            status=self._state(row),
        )

    def _remember(self, moment: datetime, submit_s: float) -> None:
        self.zones.add(moment.strftime("%z") if moment.tzinfo else "")
        if len(self.zones) > 1 and "" in self.zones:
            raise self.table.error("submit_time", str(moment), ZONE_OR_NOT)
        if submit_s < self.start_s:
            self.start_s, self.start_at = submit_s, moment
        self.submits.append(submit_s)

    def _run_time(self, row: Row, submit_s: float) -> float | None:
        """Seconds run, None when the row says nothing usable. Says where `duration` has another meaning."""
        start, end, stated = self._start(row), self._end(row), self._duration(row)
        line = self.table.line
        if start is None or end is None:
            if stated is None:
                self.skipped.add("neither start and end nor a duration", line)
            else:
                self.noted.add("start or end is missing, so the column duration is the run time", line)
            return stated
        if end < start:
            self.skipped.add("ends before it starts", line)
            return None
        if stated is not None and abs(stated - (end - start)) > 1:
            waited_too = abs(stated - (end - submit_s)) <= 1
            rule = "is end - submit" if waited_too else "is neither end - start nor end - submit"
            self.noted.add(f"the column duration {rule}; end - start was used", line)
        return end - start

    def _kind(self, row: Row) -> str | None:
        kind = self._type(row)
        return KINDS.get(kind.lower()) if kind else None

    def notes(self) -> list[str | None]:
        name = "Acme" if self.acme else "Helios"
        tenants = "Acme names no tenant: all jobs belong to one, 'acme'." if self.acme else VC_IS_TENANT
        zones = sorted(self.zones - {""})
        return [
            f"Read {self.rows:,} rows of a {name} log, kept {len(self.submits):,} GPU jobs. {tenants}",
            "Run time is end - start unless said otherwise below; the column queue is not used.",
            f"Times carry the zone {', '.join(zones)}." if zones else "Times carry no zone.",
            *self.skipped.statements("Skipped"),
            *self.noted.statements("Noted"),
            order_note(self.submits),
        ]
