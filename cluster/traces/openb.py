"""Alibaba GPU cluster v2023 ("openb"): the pod list, and the node list that goes with it.

Times are seconds from the trace's start. Pods take 0 to 8 GPUs, or a fraction of one (`gpu_milli`
thousandths).
Source: hkust-adsl/kubernetes-scheduler-simulator; Q. Weng, L. Yang et al., USENIX ATC '23.
"""

from dataclasses import dataclass
from pathlib import Path

from cluster.traces.notes import Tally, order_note
from cluster.traces.source import Row, Table
from cluster.traces.trace import Trace, TraceJob

COLUMNS = (
    "name",
    "num_gpu",
    "gpu_milli",
    "gpu_spec",
    "qos",
    "pod_phase",
    "creation_time",
    "deletion_time",
    "scheduled_time",
)
NODE_COLUMNS = ("sn", "gpu", "model")
PHASES = ("Running", "Failed", "Pending", "Succeeded")
# Quality of service of the pod in our three tiers: an assumption, said in the notes.
TIERS = {"LS": "production", "Guaranteed": "production", "Burstable": "research", "BE": "best_effort"}
TENANT = "openb"
FRACTION = "pods ask for a fraction of a GPU; each is given a whole one (an assumption)"
SEVERAL_MODELS = "pods allow several GPU models; they are taken as any model (an assumption)"


@dataclass(frozen=True, slots=True)
class OpenbNode:
    """One host of the node list that has GPUs."""

    name: str
    gpus: int
    gpu_model: str


def read_pods(path: Path) -> Trace:
    """Pods with GPUs that were placed once. Run time is deletion - scheduling."""
    reader = _PodReader(Table(path, COLUMNS))
    jobs = reader.jobs()
    return Trace.of("openb", path, jobs, reader.notes(jobs))


def read_nodes(path: Path) -> list[OpenbNode]:
    """The hosts with GPUs, in the order of the file; hosts without GPUs are left out."""
    table = Table(path, NODE_COLUMNS)
    name, gpus, model = table.text("sn"), table.whole("gpu"), table.text_or_none("model")
    nodes = []
    for row in table.rows():
        if gpus(row) and model(row) is None:
            raise table.error("model", "", "a GPU model, because the node has GPUs")
        if gpus(row):
            nodes.append(OpenbNode(name(row), gpus(row), model(row) or ""))
    return nodes


class _PodReader:
    def __init__(self, table: Table) -> None:
        self.table = table
        self._name, self._qos = table.text("name"), table.text("qos")
        self._spec = table.text_or_none("gpu_spec")
        self._gpus, self._milli = table.whole("num_gpu"), table.whole_or_none("gpu_milli")
        self._phase, self._created = table.one_of("pod_phase", PHASES), table.seconds("creation_time")
        self._deleted = table.seconds_or_none("deletion_time")
        self._scheduled = table.seconds_or_none("scheduled_time")
        self.skipped, self.noted = Tally(), Tally()
        self.rows = 0
        self.last_deleted = 0.0
        self.fraction_gpu_s = 0.0  # GPU-seconds that the rounding up adds

    def jobs(self) -> list[TraceJob]:
        kept = [(self._job(row), self._deleted(row)) for row in self.table.rows()]
        return [self._flagged(job, deleted) for job, deleted in kept if job is not None]

    def _job(self, row: Row) -> TraceJob | None:
        """None when the pod is skipped."""
        self.rows += 1
        line, gpus = self.table.line, self._gpus(row)
        created, scheduled, deleted = self._created(row), self._scheduled(row), self._deleted(row)
        self.last_deleted = max(self.last_deleted, deleted or 0.0)
        if gpus == 0:
            self.skipped.add("pods without GPUs", line)
            return None
        if scheduled is None:
            self.skipped.add("pods that were never placed (Pending), so their run time is unknown", line)
            return None
        if deleted is None or deleted < scheduled:
            self.skipped.add("pods without an end after their start", line)
            return None
        milli = self._milli(row)
        if gpus == 1 and milli is not None and milli < 1000:
            self.noted.add(FRACTION, line)
            self.fraction_gpu_s += (1 - milli / 1000) * (deleted - scheduled)
        return TraceJob(
            job_id=self._name(row),
            tenant=TENANT,
            submit_s=created,
            gpus=gpus,
            nodes=1,
            gpus_per_node=gpus,
            gpu_model=self._model(row),
            duration_s=deleted - scheduled,
            tier=TIERS.get(self._qos(row)),
            status=self._phase(row),
        )

    def _model(self, row: Row) -> str | None:
        """The model asked for; None = any. Several allowed models are taken as any, and counted."""
        models = sorted(set((self._spec(row) or "").split("|")) - {""})
        if len(models) > 1:
            self.noted.add(SEVERAL_MODELS, self.table.line)
        return models[0] if len(models) == 1 else None

    def _flagged(self, job: TraceJob, deleted: float | None) -> TraceJob:
        """A Running pod that ends at the very last deletion most likely outlived the record."""
        if deleted != self.last_deleted or job.status != "Running":
            return job
        return job._replace(censored=True)

    def notes(self, jobs: list[TraceJob]) -> list[str | None]:
        censored = sum(job.censored for job in jobs)
        added = self.fraction_gpu_s / 3600
        return [
            f"Read {self.rows:,} pods of the openb list, kept {len(jobs):,} jobs.",
            "Times are seconds from an unnamed start. A pod is submitted when created and runs from its "
            "scheduling to its deletion.",
            "The trace has no tenants: all jobs belong to one, 'openb'. It has no gangs over several nodes.",
            "Tiers are assumed from the quality of service: LS and Guaranteed are production, Burstable is "
            "research, BE is best effort.",
            "The phases Running and Failed are the last look at a pod, not the outcome of a job.",
            *self.skipped.statements("Skipped"),
            *self.noted.statements("Noted"),
            f"Noted {censored:,}: pods still run at the last deletion; their run time is a lower bound.",
            f"Rounding fractions up to whole GPUs adds {added:,.0f} GPU-hours." if added else None,
            order_note([job.submit_s for job in jobs]),
        ]
