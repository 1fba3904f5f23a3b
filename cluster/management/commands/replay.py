import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from cluster.imports.loader import load_policy
from cluster.imports.problems import ImportRefused
from cluster.replay.cluster_choice import Chosen, choose_cluster
from cluster.replay.metrics import Metrics
from cluster.replay.report import DENOMINATORS, rows
from cluster.replay.run import run
from cluster.replay.schemes import Scheme, schemes
from cluster.replay.setup import Setup, set_up
from cluster.scheduler.policy import Policy
from cluster.traces import FORMATS, Trace, TraceError, read_trace

KEYS = [scheme.key for scheme in schemes(Policy())]


class Command(BaseCommand):
    help = (
        "Runs a public trace through the planner with a virtual clock, and through plain baselines to "
        "compare. Needs no database."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--trace", required=True, help="the trace: .csv or .json, packed with gzip or not"
        )
        parser.add_argument("--format", choices=list(FORMATS), help="found by the header when left out")
        parser.add_argument("--cluster", help="YAML description, or a node or quota list (CSV) of the trace")
        parser.add_argument("--policy", help="YAML with the keys of a description's policy section")
        parser.add_argument(
            "--only", help=f"some of {', '.join(KEYS)}, separated by commas; all when left out"
        )
        parser.add_argument(
            "--days", type=float, help="replay only what was submitted in the first so many days"
        )
        parser.add_argument(
            "--json", metavar="OUT", help="write all numbers to this file; '-' for standard output"
        )

    def handle(self, *, trace: str, only: str | None, **options: Any) -> None:
        chosen_keys = _keys(only)
        try:
            read = _cut(read_trace(trace, options["format"]), options["days"])
            cluster = choose_cluster(read, options["cluster"])
            policy = _policy(cluster, options["policy"])
        except (TraceError, ImportRefused) as refused:
            raise CommandError(str(refused)) from None
        setup = set_up(read, cluster.description, cluster.tenant_names, cluster.models)
        if not setup.jobs:
            raise CommandError(f"{trace}: no job of it could run on this cluster")
        # With the numbers on standard output everything else goes to the other one.
        console = Console(stderr=options["json"] == "-")
        notes = [*read.notes, *cluster.notes, *setup.notes]
        self._print_head(console, read, setup, notes)
        results = [
            (scheme, self._run(console, setup, scheme))
            for scheme in schemes(policy)
            if scheme.key in chosen_keys
        ]
        self._print_table(console, results)
        if options["json"]:
            self._write_json(options["json"], read, setup, notes, results)

    def _run(self, console: Console, setup: Setup, scheme: Scheme) -> Metrics:
        columns = (
            TextColumn(f"{scheme.title:<20}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("jobs, day {task.fields[day]}"),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
            task = bar.add_task(scheme.key, total=len(setup.jobs), day="0")
            return run(
                setup,
                scheme,
                lambda ended, at_s: bar.update(task, completed=ended, day=f"{at_s / 86400:,.1f}"),
            )

    def _print_head(self, console: Console, trace: Trace, setup: Setup, notes: list[str]) -> None:
        fleet = ", ".join(f"{gpus:,} {model}" for model, gpus in sorted(setup.fleet.installed_gpus.items()))
        console.print(
            f"{trace.source} ({trace.format}): {len(setup.jobs):,} jobs, {trace.gpu_hours:,.0f} GPU-hours, "
            f"{len(trace.tenants)} tenants, on {len(setup.fleet.nodes):,} nodes with {fleet}",
            highlight=False,
        )
        for note in notes:
            console.print(f"  · {note}", highlight=False, markup=False)

    def _print_table(self, console: Console, results: list[tuple[Scheme, Metrics]]) -> None:
        table = Table(title="Replay", title_justify="left", caption=DENOMINATORS, caption_justify="left")
        table.add_column("", no_wrap=True)
        for scheme, _ in results:
            table.add_column(scheme.title, justify="right")
        for title, answers in rows(results):
            table.add_row(title, *answers)
        console.print(table)
        for scheme, _ in results:
            console.print(f"  {scheme.title}: {scheme.says}", highlight=False)

    def _write_json(
        self, out: str, trace: Trace, setup: Setup, notes: list[str], results: list[tuple[Scheme, Metrics]]
    ) -> None:
        data = {
            "trace": trace.source,
            "format": trace.format,
            "start_at": trace.start_at.isoformat() if trace.start_at else None,
            "installed_gpus": setup.fleet.installed_gpus,
            "nodes": len(setup.fleet.nodes),
            "notes": notes,
            "schemes": {scheme.key: metrics.as_json() for scheme, metrics in results},
        }
        text = json.dumps(data, indent=2)
        if out == "-":
            self.stdout.write(text)
            return
        try:
            Path(out).write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise CommandError(f"--json {out} cannot be written: {error.strerror}") from None


def _keys(only: str | None) -> list[str]:
    keys = [key.strip() for key in only.split(",")] if only else KEYS
    for key in keys:
        if key not in KEYS:
            raise CommandError(f"--only: '{key}' is unknown; allowed: {', '.join(KEYS)}")
    return keys


def _cut(trace: Trace, days: float | None) -> Trace:
    """The trace up to so many days after its start."""
    if days is None:
        return trace
    if days <= 0:
        raise CommandError(f"--days {days:g}: give a number above 0")
    return trace.first(days * 86_400)


def _policy(cluster: Chosen, file: str | None) -> Policy:
    """The policy file's settings over those of the cluster's description."""
    settings = cluster.description.policy | (load_policy(file) if file else {})
    return Policy.from_settings(settings)
