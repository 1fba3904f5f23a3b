"""What every trace reader gives back, and the one error they raise."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Self


class TraceJob(NamedTuple):
    """One job of a public trace, in our words. Units: seconds and GPUs. None = the trace does not say.

    A named tuple, because traces hold millions of them and a frozen dataclass is made four times slower.
    """

    job_id: str
    tenant: str
    submit_s: float  # after the trace's start
    gpus: int
    duration_s: float
    user: str | None = None
    nodes: int | None = None
    gpus_per_node: int | None = None
    gpu_model: str | None = None
    tier: str | None = None
    kind: str | None = None
    status: str | None = None
    censored: bool = False  # it was still running when the record ended: duration_s is a lower bound

    @property
    def gpu_hours(self) -> float:
        return self.gpus * self.duration_s / 3600


@dataclass(frozen=True, slots=True)
class Trace:
    """The jobs of one file, ordered by submission, with plain statements about how they were read.

    `start_at` is the moment `submit_s` counts from: with a zone when the file names one, without when
    it does not, None when the file counts seconds from an unnamed start.
    """

    format: str
    source: str
    jobs: tuple[TraceJob, ...]
    start_at: datetime | None
    notes: tuple[str, ...]

    @property
    def gpu_hours(self) -> float:
        return sum(job.gpu_hours for job in self.jobs)

    @property
    def largest_gang(self) -> int:
        """GPUs of the largest job; 0 for an empty trace."""
        return max((job.gpus for job in self.jobs), default=0)

    @property
    def last_submit_s(self) -> float:
        return self.jobs[-1].submit_s if self.jobs else 0.0

    @property
    def tenants(self) -> list[str]:
        return sorted({job.tenant for job in self.jobs})

    def first(self, seconds: float) -> Self:
        """Only the jobs submitted in the first so many seconds; a note says how many were left out."""
        kept = tuple(job for job in self.jobs if job.submit_s < seconds)
        out = len(self.jobs) - len(kept)
        note = f"Only the first {seconds / 86_400:g} days are used: {out:,} jobs left out."
        return replace(self, jobs=kept, notes=(*self.notes, note))

    @classmethod
    def of(
        cls,
        format: str,
        path: Path,
        jobs: list[TraceJob],
        notes: Iterable[str | None],
        *,
        start_s: float = 0.0,
        start_at: datetime | None = None,
    ) -> Self:
        """A trace of jobs whose `submit_s` still counts on the file's own clock, where the trace starts at
        `start_s`. They are put in order; equal times keep the file's order. Empty notes are left out.
        """
        moved = [job._replace(submit_s=job.submit_s - start_s) for job in jobs] if start_s else jobs
        ordered = tuple(sorted(moved, key=lambda job: job.submit_s))
        return cls(format, path.name, ordered, start_at, tuple(note for note in notes if note))


class TraceError(ValueError):
    """A trace file that cannot be read. Names file, place, column, value, and what is allowed."""

    def __init__(
        self,
        file: str,
        problem: str,
        *,
        line: int | None = None,
        column: str | None = None,
        value: str | None = None,
        allowed: str | None = None,
    ) -> None:
        self.file, self.line, self.column, self.value, self.allowed = file, line, column, value, allowed
        parts = (file, f"line {line}" if line else "", f"column {column}" if column else "")
        place = ", ".join(part for part in parts if part)
        ending = f"; allowed: {allowed}" if allowed else ""
        super().__init__(f"{place}: {problem}{ending}")
