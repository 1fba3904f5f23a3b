"""What was measured, as a table and as JSON."""

import os
import platform
from dataclasses import asdict, dataclass, field
from typing import Any

from rich.table import Table

from cluster.bench.page import PageTimes
from cluster.bench.philly import ReplaySpeed
from cluster.bench.scale import Scale
from cluster.bench.scale_report import scale_json, scale_tables
from cluster.bench.scene import SAID
from cluster.bench.ticks import Spread, TickTimes


@dataclass
class Report:
    """All that was asked for; what could not be measured is missing, and `skipped` says why."""

    database: str = ""
    ticks: TickTimes | None = None
    today: PageTimes | None = None
    replay: ReplaySpeed | None = None
    scale: list[Scale] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Times in milliseconds unless the name says seconds; rounded to what can be reproduced."""
        replay = asdict(self.replay) | {"jobs_per_s": self.replay.jobs_per_s} if self.replay else None
        return {
            "machine": {"python": platform.python_version(), "cpus": os.cpu_count(), "load": _load()},
            "database": self.database,
            "ticks": _rounded(asdict(self.ticks)) if self.ticks else None,
            "today": _rounded(asdict(self.today)) if self.today else None,
            "replay": _rounded(replay) if replay else None,
            "scale": _rounded(scale_json(self.scale)),
            "skipped": self.skipped,
        }

    def tables(self) -> list[Table]:
        """One for the times of an installation, one for planning at scale: those that were asked for."""
        asked = self.ticks or self.today or self.replay or self.skipped or not self.scale
        return [*([self.table()] if asked else []), *(scale_tables(self.scale) if self.scale else [])]

    def table(self) -> Table:
        table = Table(title=f"Bench on {self.database}", title_justify="left", caption_justify="left")
        for title in ("", "median", "95 %", "max"):
            table.add_column(title, justify="left" if not title else "right")
        if self.ticks:
            _add_ticks(table, self.ticks)
        if self.today:
            table.add_row("Today's page, warm", *_spread(self.today.warm), end_section=True)
        if self.replay:
            speed = f"{self.replay.jobs_per_s:,.0f} jobs/s"
            table.add_row(f"Replay of {self.replay.trace}", speed, "", f"{self.replay.seconds:,.1f} s")
        table.caption = "\n".join([*self._said(), *self.skipped])
        return table

    def _said(self) -> list[str]:
        said = []
        if self.ticks:
            t = self.ticks
            said += [
                f"Ticks: {t.nodes:,} nodes, {t.gpus:,} GPUs, {t.allocated_gpus:,} of them held by "
                f"{t.running_gangs:,} gangs; {t.queued_gangs:,} gangs of {t.queued_shapes:,} shapes wait "
                f"({SAID}).",
                f"{t.ticks} ticks, in which {t.starts:,} gangs started and {t.preemptions:,} were preempted. "
                f"Filling the empty cluster took one tick of {t.first_tick_ms / 1000:,.1f} s. "
                f"Peak memory {t.peak_memory_mb:,.0f} MB.",
            ]
        if self.today:
            said.append(
                f"Today: {self.today.queries} queries, {self.today.bytes:,} bytes, first view "
                f"{self.today.cold_ms:,.0f} ms."
            )
        if self.replay:
            r = self.replay
            said.append(
                f"Replay: {r.jobs:,} jobs on {r.gpus:,} GPUs in {r.ticks:,} ticks, on one core; reading and "
                f"deriving the cluster took {r.prepare_s:,.1f} s before."
            )
        return said


def _add_ticks(table: Table, ticks: TickTimes) -> None:
    for step, spread in ticks.steps.items():
        table.add_row(f"Tick: {step.replace('_', ' ')}", *_spread(spread))
    table.add_row("Tick, whole", *_spread(ticks.whole), style="bold")
    table.add_row("Tick, processor time", *_spread(ticks.cpu), end_section=True)


def _spread(spread: Spread) -> list[str]:
    return [f"{ms:,.0f} ms" for ms in (spread.median_ms, spread.p95_ms, spread.max_ms)]


def _load() -> float | None:
    """How busy the machine was otherwise: figures taken under load say little."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_rounded(inner) for inner in value]
    return round(value, 4) if isinstance(value, float) else value
