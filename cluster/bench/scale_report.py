"""The rows of the scale bench, as a table and as JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.table import Table

from cluster.bench.scale import Scale, Times

_TIMES = ("nodes × gangs", "decide", "explain", "solve", "whole", "cannot run", "memory")
_QUALITY = ("nodes × gangs", "greedy", "joint", "LP bound", "gap", "solver", "programme")


def scale_json(rows: Sequence[Scale]) -> list[dict[str, Any]]:
    """Times in seconds, GPUs as the mean over the worlds, gaps as parts of the LP bound."""
    return [asdict(row) for row in rows]


def scale_tables(rows: Sequence[Scale]) -> list[Table]:
    """Times, the median over the worlds with the longest in brackets; then how good the plans are."""
    times, quality = _table("Planning alone, seconds", _TIMES), _table("Planning alone, GPUs", _QUALITY)
    for row in rows:
        size = f"{row.nodes:,} × {row.gangs:,}"
        times.add_row(
            size,
            *(_times(each) for each in (row.decide, row.explain, row.solve, row.whole, row.refuse)),
            f"{row.peak_memory_mb:,.0f} MB",
        )
        quality.add_row(
            size,
            f"{row.greedy_gpus:,.0f}",
            f"{row.joint_gpus:,.0f}",
            "not found" if row.bound_gpus is None else f"{row.bound_gpus:,.0f}",
            "–" if row.joint_gap is None else f"{100 * row.joint_gap:.1f} %",
            f"{row.status}; better in {row.solver_better} of {row.worlds}",
            f"{row.constraints:,} × {row.variables:,}",
        )
    times.caption = "Median and (maximum). Cannot run: the same queue, but nothing in it can start."
    quality.caption = (
        "GPUs of entitled gangs that start or are secured, mean over the worlds. LP bound: what no plan can "
        "exceed, all tiers together, without whole numbers. Gap: to what is proved of each tier in turn. "
        "Programme: rows × columns of the largest."
    )
    return [times, quality]


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", caption_justify="left")
    for column in columns:
        table.add_column(column, justify="right")
    return table


def _times(times: Times) -> str:
    return f"{times.median_s:.2f} ({times.max_s:.2f})"
