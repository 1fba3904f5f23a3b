"""The recoded cut of Helios' Venus cluster: job_id,user,tenant,class,submit_time,num_chips,...,final_status.

Times are microseconds after 2020-09-01 00:00:00 cluster local time. Two columns are made up by the recoding
and not read: `class` ('finetune' in every row) and `walltime_limit_s` (the run time, a perfect estimate).
"""

from datetime import datetime
from pathlib import Path

from cluster.traces.helios import VC_IS_TENANT, spread_of
from cluster.traces.notes import NO_STARTS, UNEVEN, Tally, order_note
from cluster.traces.source import Table
from cluster.traces.trace import Trace, TraceJob

COLUMNS = (
    "job_id",
    "user",
    "tenant",
    "class",
    "submit_time",
    "num_chips",
    "num_nodes",
    "duration_s",
    "final_status",
)
STATUSES = ("COMPLETED", "CANCELED", "FAILED", "TIMEOUT", "NODE_FAIL")
START_AT = datetime(2020, 9, 1)
LONGEST_S = 14 * 86_400  # longer runs were cut to this by the recoding


def read_cut(path: Path) -> Trace:
    """All rows of the cut. `submit_s` counts from 2020-09-01 00:00: the first job comes a little after 0."""
    table = Table(path, COLUMNS)
    job_id, user, tenant = table.text("job_id"), table.text_or_none("user"), table.text("tenant")
    submit_us, lasted = table.whole("submit_time"), table.seconds("duration_s")
    chips, nodes = table.whole("num_chips", 1), table.whole("num_nodes", 1)
    model, status = table.text_or_none("chip_type"), table.one_of("final_status", STATUSES)
    noted = Tally()
    jobs = []
    for row in table.rows():
        gpus, ended = chips(row), status(row)
        spread, per_node = spread_of(gpus, nodes(row))
        if spread is None:
            noted.add(UNEVEN, table.line)
        if lasted(row) >= LONGEST_S:
            noted.add("the run time was cut at 14 days by the recoding and is a lower bound", table.line)
        jobs.append(
            TraceJob(
                job_id=job_id(row),
                tenant=tenant(row),
                user=user(row),
                submit_s=submit_us(row) / 1e6,
                gpus=gpus,
                nodes=spread,
                gpus_per_node=per_node,
                gpu_model=model(row),
                duration_s=lasted(row),
                status="CANCELLED" if ended == "CANCELED" else ended,
                censored=lasted(row) >= LONGEST_S,
            )
        )
    notes = [
        f"Read {len(jobs):,} jobs of the recoded Helios Venus cut. {VC_IS_TENANT}",
        "submit_time is in microseconds after 2020-09-01 00:00 cluster local time, without a zone.",
        "The columns class and walltime_limit_s are made up by the recoding and were not used.",
        NO_STARTS,
        "Jobs already running at the start are missing: the cluster begins empty.",
        *noted.statements("Noted"),
        order_note([job.submit_s for job in jobs]),
    ]
    return Trace.of("helios", path, jobs, notes, start_at=START_AT)
