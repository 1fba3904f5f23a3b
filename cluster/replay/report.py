"""A replay's numbers as a table for people: one column a scheme, one row a question."""

from collections.abc import Callable, Sequence

from cluster.replay.metrics import Metrics
from cluster.replay.schemes import Scheme

Row = tuple[str, list[str]]
Results = Sequence[tuple[Scheme, Metrics]]


def rows(results: Results) -> list[Row]:
    """(question, the answer of each scheme), in the order in which they are read."""
    all_metrics = [metrics for _, metrics in results]

    def row(title: str, answer: Callable[[Metrics], str]) -> Row:
        return title, [answer(metrics) for metrics in all_metrics]

    sizes = list(dict.fromkeys(size for metrics in all_metrics for size in metrics.wait_by_size))
    return [
        row("jobs", lambda m: f"{m.jobs:,}"),
        row("never started", lambda m: f"{m.wait.never_started:,}"),
        row("GPU-hours asked for", lambda m: f"{m.gpu_hours:,.0f}"),
        row("allocated share", lambda m: share(m.allocated_share)),
        row("busy share", lambda m: share(m.busy_share)),
        row("wait, mean", lambda m: duration(m.wait.mean_s)),
        row("wait, median", lambda m: duration(m.wait.median_s)),
        row("wait, 95 %", lambda m: duration(m.wait.p95_s)),
        row("wait, longest", lambda m: duration(m.wait.longest_s)),
        *(r for size in sizes for r in _of_size(size, all_metrics)),
        row("largest gang, GPUs", lambda m: f"{m.largest_gang_gpus:,}"),
        row("  jobs of that size", lambda m: f"{m.largest_gang.jobs + m.largest_gang.never_started:,}"),
        row("  wait, mean", lambda m: duration(m.largest_gang.mean_s)),
        row("  wait, longest", lambda m: duration(m.largest_gang.longest_s)),
        row("preempted by tier", lambda m: f"{m.preemptions['tier']:,}"),
        row("backfill sent back", lambda m: f"{m.preemptions['backfill_return']:,}"),
        row("GPU-hours lost", lambda m: f"{m.lost_gpu_hours:,.1f}"),
        row("loans made", lambda m: f"{m.loans_made:,}"),
        row("loans reclaimed", lambda m: f"{m.loans_reclaimed:,}"),
        row("GPU-hours on loan", lambda m: f"{m.loan_gpu_hours:,.0f}"),
        row("all done after", lambda m: duration(m.done_s)),
        row("longest queue, jobs", lambda m: f"{m.queue_peak:,}"),
        row("ticks", lambda m: f"{m.ticks:,}"),
        row("computed in", lambda m: f"{m.seconds:,.1f} s"),
        row("jobs a second", lambda m: f"{m.jobs / m.seconds if m.seconds else 0:,.0f}"),
    ]


DENOMINATORS = (
    "Shares are of all installed GPUs over the time from the first to the last submission; busy leaves out "
    "restarts and the way out after a signal. Waits run from submission to first start, of jobs that started."
)


def _of_size(size: str, all_metrics: Sequence[Metrics]) -> list[Row]:
    found = [metrics.wait_by_size.get(size) for metrics in all_metrics]
    return [
        (f"wait of {size} GPUs, mean", [duration(waits.mean_s if waits else None) for waits in found]),
        ("  95 %", [duration(waits.p95_s if waits else None) for waits in found]),
    ]


def share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def duration(seconds: float | None) -> str:
    """'–', '18s', '7m 26s', '3h 05m', '12d 4h'."""
    if seconds is None:
        return "–"
    whole = round(seconds)
    minutes, s = divmod(whole, 60)
    hours, m = divmod(minutes, 60)
    days, h = divmod(hours, 24)
    if days:
        return f"{days}d {h}h"
    if hours:
        return f"{hours}h {m:02d}m"
    return f"{m}m {s:02d}s" if m else f"{s}s"
