"""manage.py explain JOB: why is it waiting, in the words of page and API."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from cluster.models import Job
from cluster.selectors.explanation import as_text, explain_job


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
            self.stdout.write(as_text(job, found))
