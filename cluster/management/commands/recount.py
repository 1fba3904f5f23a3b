"""manage.py recount: do the books agree with what was held?"""

from datetime import timedelta

from django.core.management.base import BaseCommand, CommandError, CommandParser

from cluster import clock
from cluster.pipeline.recount import drifts


class Command(BaseCommand):
    help = (
        "Recount usage from the allocations and compare it with the usage intervals. Fails on a difference."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--days", type=float, default=2.0, help="how far to look back (default: 2)")

    def handle(self, *, days: float, **options: object) -> None:
        found = drifts(clock.now() - timedelta(days=days))
        for drift in found:
            self.stderr.write(str(drift))
        if found:
            raise CommandError(
                f"{len(found)} runs are not booked as they held GPUs in the last {days:g} days"
            )
        self.stdout.write(f"Every run of the last {days:g} days is booked exactly as it held its GPUs.")
