"""manage.py bench: how fast it is here."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from rich.console import Console

from cluster.bench.page import measure_today
from cluster.bench.philly import measure_replay
from cluster.bench.report import Report
from cluster.bench.scale import GANGS, NODES, measure_scale
from cluster.bench.throwaway import throwaway_database
from cluster.bench.ticks import measure_ticks
from cluster.traces import TraceError

PARTS = ("ticks", "today", "replay", "scale")
SAMPLE = Path("shared/data/philly/philly_jobs.csv.gz")


class Command(BaseCommand):
    help = (
        "Measure tick time and the time of Today's page at 10,000 GPUs, replay speed on the Philly sample, "
        "and planning alone at several sizes beside the best that is possible. Works on a database of its "
        "own, which is thrown away. The table goes to standard error, JSON to standard output."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--only", help=f"some of {', '.join(PARTS)}, separated by commas")
        parser.add_argument("--nodes", type=int, default=1250, help="of 8 GPUs each (default: 1250)")
        parser.add_argument("--queued", type=int, default=1000, help="gangs in the queue (default: 1000)")
        parser.add_argument("--ticks", type=int, default=20, help="ticks that are measured (default: 20)")
        parser.add_argument(
            "--sizes",
            default=",".join(f"{nodes}x{gangs}" for nodes in NODES for gangs in GANGS),
            help="of scale: NODESxGANGS, separated by commas (default: %(default)s)",
        )
        parser.add_argument("--worlds", type=int, default=3, help="of scale, of each size (default: 3)")
        parser.add_argument("--trace", type=Path, help=f"the Philly sample (default: ../{SAMPLE})")

    def handle(self, *, only: str | None, trace: Path | None, **options: Any) -> None:
        parts = _parts(only)
        for name in ("nodes", "queued", "ticks", "worlds"):
            if options[name] < 1:
                raise CommandError(f"--{name} {options[name]}: give a number of at least 1")
        sizes = _sizes(options["sizes"])
        console = Console(stderr=True)
        with console.status("starting") as status:
            report = self._measure(parts, trace, options, status.update)
            if "scale" in parts:
                report.scale = measure_scale(sizes, options["worlds"], status.update)
        for table in report.tables():
            console.print(table)
        self.stdout.write(json.dumps(report.as_json(), indent=2))

    def _measure(self, parts: set[str], trace: Path | None, options: dict[str, Any], tell: Any) -> Report:
        report = Report()
        if parts & {"ticks", "today"}:
            tell("making a throw-away database")
            with throwaway_database() as report.database:
                report.ticks = measure_ticks(options["nodes"], options["queued"], options["ticks"], tell)
                if "today" in parts:
                    tell("looking at Today")
                    report.today = measure_today()
        if "replay" in parts:
            self._replay(report, trace or settings.BASE_DIR.parent / SAMPLE, tell)
        return report

    def _replay(self, report: Report, trace: Path, tell: Any) -> None:
        if not trace.exists():
            report.skipped.append(
                f"Replay was not measured: the Philly sample is not at {trace}. Name it with --trace FILE."
            )
            return
        try:
            report.replay = measure_replay(trace, tell)
        except TraceError as refused:
            raise CommandError(str(refused)) from None


def _sizes(text: str) -> list[tuple[int, int]]:
    sizes = []
    for size in text.split(","):
        nodes, _, gangs = size.strip().partition("x")
        if not (nodes.isdecimal() and gangs.isdecimal() and int(nodes) and int(gangs)):
            raise CommandError(f"--sizes: '{size.strip()}' is no size; write NODESxGANGS, as in 1250x1000")
        sizes.append((int(nodes), int(gangs)))
    return sizes


def _parts(only: str | None) -> set[str]:
    parts = {part.strip() for part in only.split(",")} if only else set(PARTS)
    for part in sorted(parts - set(PARTS)):
        raise CommandError(f"--only: '{part}' is unknown; allowed: {', '.join(PARTS)}")
    return parts
