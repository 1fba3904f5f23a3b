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
from cluster.bench.throwaway import throwaway_database
from cluster.bench.ticks import measure_ticks
from cluster.traces import TraceError

PARTS = ("ticks", "today", "replay")
SAMPLE = Path("shared/data/philly/philly_jobs.csv.gz")


class Command(BaseCommand):
    help = (
        "Measure tick time and the time of Today's page at 10,000 GPUs, and replay speed on the Philly "
        "sample. Works on a database of its own, which is thrown away. The table goes to standard error, "
        "JSON to standard output."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--only", help=f"some of {', '.join(PARTS)}, separated by commas")
        parser.add_argument("--nodes", type=int, default=1250, help="of 8 GPUs each (default: 1250)")
        parser.add_argument("--queued", type=int, default=1000, help="gangs in the queue (default: 1000)")
        parser.add_argument("--ticks", type=int, default=20, help="ticks that are measured (default: 20)")
        parser.add_argument("--trace", type=Path, help=f"the Philly sample (default: ../{SAMPLE})")

    def handle(self, *, only: str | None, trace: Path | None, **options: Any) -> None:
        parts = _parts(only)
        for name in ("nodes", "queued", "ticks"):
            if options[name] < 1:
                raise CommandError(f"--{name} {options[name]}: give a number of at least 1")
        console = Console(stderr=True)
        with console.status("starting") as status:
            report = self._measure(parts, trace, options, status.update)
        console.print(report.table())
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


def _parts(only: str | None) -> set[str]:
    parts = {part.strip() for part in only.split(",")} if only else set(PARTS)
    for part in sorted(parts - set(PARTS)):
        raise CommandError(f"--only: '{part}' is unknown; allowed: {', '.join(PARTS)}")
    return parts
