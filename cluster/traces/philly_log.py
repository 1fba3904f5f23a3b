"""Philly (Microsoft, 2017), the original `cluster_job_log`: a JSON list of jobs with their attempts.

Schema: github.com/msr-fiddle/philly-traces, README. A job may have no attempts; an attempt may lack its start
or end; a last attempt without an end was still running when the record was taken.
"""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from cluster.traces.notes import Tally, order_note
from cluster.traces.source import ABSENT, read_json
from cluster.traces.times import naive_moment, pacific_change_note, seconds_of
from cluster.traces.trace import Trace, TraceError, TraceJob

STATUSES = {"Pass": "COMPLETED", "Killed": "CANCELLED", "Failed": "FAILED"}


@dataclass(frozen=True, slots=True)
class _Attempt:
    start_s: float | None
    end_s: float | None
    gpus: int
    nodes: int


@dataclass(frozen=True, slots=True)
class _Record:
    job_id: str
    tenant: str
    user: str | None
    status: str
    submit_s: float
    attempts: list[_Attempt]


class _Document:
    """The JSON list, with readers that name the record and the key of every mistake."""

    def __init__(self, path: Path) -> None:
        self.file = str(path)
        self.entries = read_json(path)
        if not isinstance(self.entries, list):
            raise TraceError(self.file, "the document is not a list", allowed="a list of jobs")

    def error(self, place: str, value: Any, allowed: str) -> TraceError:
        problem = f"{value!r} is not allowed"
        return TraceError(self.file, problem, column=place, value=str(value), allowed=allowed)

    def take(self, entry: Any, key: str, kind: type, place: str) -> Any:
        if not isinstance(entry, dict):
            raise self.error(place, entry, "an object with keys and values")
        if not isinstance(entry.get(key), kind):
            allowed = "a list" if kind is list else "a text"
            raise self.error(f"{place}.{key}", entry.get(key), allowed)
        return entry[key]

    def moment_s(self, value: Any, place: str) -> float | None:
        """Seconds of a time; None where the log has none (null or the word 'None')."""
        if value is None or str(value).strip().lower() in ABSENT:
            return None
        try:
            return seconds_of(datetime.fromisoformat(str(value).strip()))
        except ValueError:
            raise self.error(place, value, "a time such as 2017-10-07 01:11:39, or null") from None

    def records(self) -> list[_Record]:
        return [self._record(entry, f"[{number}]") for number, entry in enumerate(self.entries)]

    def _record(self, entry: Any, place: str) -> _Record:
        status = self.take(entry, "status", str, place)
        if status not in STATUSES:
            raise self.error(f"{place}.status", status, ", ".join(STATUSES))
        submitted = self.moment_s(self.take(entry, "submitted_time", str, place), f"{place}.submitted_time")
        if submitted is None:
            raise self.error(f"{place}.submitted_time", entry["submitted_time"], "a time")
        attempts = [
            self._attempt(attempt, f"{place}.attempts[{number}]")
            for number, attempt in enumerate(self.take(entry, "attempts", list, place))
        ]
        job_id, tenant = (self.take(entry, key, str, place) for key in ("jobid", "vc"))
        return _Record(job_id, tenant, entry.get("user"), STATUSES[status], submitted, attempts)

    def _attempt(self, attempt: Any, place: str) -> _Attempt:
        detail = self.take(attempt, "detail", list, place)
        gpus = sum(len(self.take(d, "gpus", list, f"{place}.detail[{n}]")) for n, d in enumerate(detail))
        start = self.moment_s(attempt.get("start_time"), f"{place}.start_time")
        end = self.moment_s(attempt.get("end_time"), f"{place}.end_time")
        return _Attempt(start, end, gpus, len(detail))


def read_log(path: Path) -> Trace:
    """One job per record. GPUs are the largest count of any attempt; run time is summed over attempts."""
    records = _Document(path).records()
    last_seen = _last_time(records)
    skipped, noted = Tally("record"), Tally("record")
    made = (_job(record, number, last_seen, skipped, noted) for number, record in enumerate(records))
    jobs = [job for job in made if job is not None]
    submits = [record.submit_s for record in records]
    notes = [
        f"Read {len(records):,} records of the Philly cluster_job_log, kept {len(jobs):,} jobs. "
        "The tenant is the virtual cluster.",
        "Run time is summed over a job's attempts; the nodes they ran on were the old scheduler's choice, "
        "so a gang is placed anew by its number of GPUs.",
        "Times carry no zone.",
        *skipped.statements("Skipped"),
        *noted.statements("Noted"),
        order_note(submits),
        pacific_change_note(submits),
    ]
    start_s = min(submits, default=0.0)
    start_at = naive_moment(start_s) if records else None
    return Trace.of("philly", path, jobs, notes, start_s=start_s, start_at=start_at)


def _last_time(records: list[_Record]) -> float:
    """The latest time in the whole log: when it was still being written."""
    times = [r.submit_s for r in records]
    times += [t for r in records for a in r.attempts for t in (a.start_s, a.end_s) if t is not None]
    return max(times, default=0.0)


def _job(record: _Record, number: int, last_seen: float, skipped: Tally, noted: Tally) -> TraceJob | None:
    if not record.attempts:
        skipped.add("no attempt is recorded, so neither GPUs nor run time are known", number)
        return None
    sizes = {attempt.gpus for attempt in record.attempts}
    gpus = max(sizes)
    if gpus == 0:
        skipped.add("no GPUs in any attempt", number)
        return None
    if len(sizes) > 1:
        noted.add("attempts differ in GPUs; the largest was used", number)
    ran, censored = _run_time(record.attempts, number, last_seen, noted)
    if ran is None:
        skipped.add("no attempt has both a start and an end, so the run time is unknown", number)
        return None
    return TraceJob(
        job_id=record.job_id,
        tenant=record.tenant,
        user=record.user,
        submit_s=record.submit_s,
        gpus=gpus,
        duration_s=ran,
        status=record.status,
        censored=censored,
    )


def _run_time(
    attempts: list[_Attempt], number: int, last_seen: float, noted: Tally
) -> tuple[float | None, bool]:
    """Seconds run over all attempts (None if not one has both times), and whether the last still ran."""
    last, total, known, censored = attempts[-1], 0.0, False, False
    for attempt in attempts:
        start, end = attempt.start_s, attempt.end_s
        if end is None and start is not None and attempt is last:
            end, censored = last_seen, True
            noted.add("still running at the end of the record; its run time is a lower bound", number)
        if start is None or end is None:
            noted.add("an attempt lacks its start or end and was left out of the run time", number)
        elif end < start:
            noted.add("an attempt ends before it starts and was left out of the run time", number)
        else:
            total, known = total + end - start, True
    return (total if known else None), censored
