from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from cluster import clock
from cluster.imports.loader import load_cluster
from cluster.imports.problems import ImportRefused
from cluster.services.import_cluster import import_cluster
from cluster.services.importing.changes import Changes
from cluster.services.importing.nodes import NodeInUse

SHOWN = 12
"""Names listed of one kind before the rest is only counted."""


class Command(BaseCommand):
    help = "Brings the database in line with a cluster description (YAML); see examples/cluster.yaml."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", help="the description, in YAML")
        parser.add_argument(
            "--dry-run", action="store_true", help="show what would change and change nothing"
        )
        parser.add_argument(
            "--remove-missing",
            action="store_true",
            help="take out nodes that the file does not name; refused while work runs on them",
        )

    def handle(self, *, file: str, dry_run: bool, remove_missing: bool, **options: Any) -> None:
        try:
            loaded = load_cluster(file)
            changes = import_cluster(
                loaded.description,
                now=clock.now(),
                source=file,
                dry_run=dry_run,
                remove_missing=remove_missing,
            )
        except ImportRefused as refused:
            raise CommandError(f"nothing was imported:\n{refused}") from None
        except NodeInUse as refused:
            raise CommandError(f"nothing was imported: {refused}") from None
        for warning in loaded.warnings:
            self.stderr.write(self.style.WARNING(str(warning)))
        self._print(changes, dry_run)

    def _print(self, changes: Changes, dry_run: bool) -> None:
        would = "would be " if dry_run else ""
        for kind, names in changes.created.items():
            self.stdout.write(self.style.SUCCESS(f"{would}created: {len(names)} × {kind}: {_some(names)}"))
        for change in changes.changed:
            self.stdout.write(f"{would}changed: {change}")
        for kind, names in changes.removed.items():
            self.stdout.write(self.style.WARNING(f"{would}removed: {len(names)} × {kind}: {_some(names)}"))
        for kind, names in changes.missing.items():
            self.stdout.write(f"not in the file, left as they are: {len(names)} × {kind}: {_some(names)}")
        if changes.is_empty:
            self.stdout.write("nothing to change: the database is as the file says")


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:SHOWN])
    return f"{shown} and {len(names) - SHOWN} more" if len(names) > SHOWN else shown
