"""manage.py explain JOB: why is it waiting, in the words of page and API."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from cluster.models import Job
from cluster.selectors.explanation import Explanation, explain_job

MARKS = {"pass": "✓", "fail": "✗", "unknown": "?"}


class Command(BaseCommand):
    help = "Say why a job is waiting, and what would unblock it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("job", type=int, help="the job's number")
        parser.add_argument("--json", action="store_true", help="the same object that the API gives")

    def handle(self, *args: Any, **options: Any) -> None:
        job = Job.objects.select_related("tenant").filter(pk=options["job"]).first()
        if job is None:
            raise CommandError(f"job {options['job']}: there is no such job")
        found = explain_job(job)
        if options["json"]:
            self.stdout.write(json.dumps(found.as_json(), default=str, indent=2))
        else:
            self.stdout.write(text(job, found))


def text(job: Job, found: Explanation) -> str:
    """The explanation for a terminal."""
    lines = [
        f"Job {job.pk} {job.name} ({job.tenant}, {job.get_tier_display()}, {job.gpus} GPUs): {found.headline}"
    ]
    lines += [
        f"  {MARKS[line.mark]} {line.title}{' (binds)' if line.binds else ''}: {line.text}"
        for line in found.lines
    ]
    if found.hints:
        lines += ["  What would unblock it:"] + [f"    - {hint}" for hint in found.hints]
    if found.expected_median_at is not None:
        late = f", by {found.expected_p90_at:%d %b %H:%M} with 90 %" if found.expected_p90_at else ""
        lines.append(f"  Expected start {found.expected_median_at:%d %b %H:%M UTC}{late}")
    return "\n".join(lines)
