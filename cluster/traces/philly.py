"""Philly (Microsoft, 2017), the reduction to one row per job: timestamp,duration,num_gpus,gpu_time,cluster.

`duration` is the run time summed over all attempts; waiting and the gaps between attempts are left out. The
original log is read by `philly_log`. Data: CC-BY-4.0, M. Jeon et al., USENIX ATC '19.
"""

from pathlib import Path

from cluster.traces.notes import NO_STARTS, Tally, copies_note, order_note
from cluster.traces.source import Table
from cluster.traces.times import naive_moment, pacific_change_note
from cluster.traces.trace import Trace, TraceJob

COLUMNS = ("timestamp", "duration", "num_gpus", "gpu_time", "cluster")


def read_reduction(path: Path) -> Trace:
    """All rows of the reduction. The number of nodes and the user are not in it, nor is any status."""
    table = Table(path, COLUMNS)
    submitted, tenant, gpus = table.moment_s("timestamp"), table.text("cluster"), table.whole("num_gpus", 1)
    duration, gpu_time = table.seconds("duration"), table.seconds("gpu_time")
    jobs: list[TraceJob] = []
    rows: list[tuple[str, ...]] = []
    odd = Tally()
    for row in table.rows():
        lasted, size = duration(row), gpus(row)
        if abs(gpu_time(row) - lasted * size) > 1:
            odd.add("gpu_time is not duration x num_gpus; duration was used", table.line)
        jobs.append(
            TraceJob(
                job_id=f"line-{table.line}",
                tenant=tenant(row),
                submit_s=submitted(row),
                gpus=size,
                duration_s=lasted,
            )
        )
        rows.append(tuple(row))
    submits = [job.submit_s for job in jobs]
    notes = [
        f"Read {len(jobs):,} jobs of the Philly reduction. The tenant is the virtual cluster.",
        "Run time is summed over a job's attempts.",
        NO_STARTS,
        "Submission times carry no zone.",
        "Nodes of a job are unknown: a gang is placed by its number of GPUs.",
        *odd.statements("Noted"),
        order_note(submits),
        copies_note(rows),
        pacific_change_note(submits),
    ]
    start_s = min(submits, default=0.0)
    start_at = naive_moment(start_s) if jobs else None
    return Trace.of("philly", path, jobs, notes, start_s=start_s, start_at=start_at)
