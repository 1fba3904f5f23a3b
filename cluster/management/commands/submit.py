from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from cluster.imports.loader import load_jobs
from cluster.imports.problems import ImportRefused
from cluster.selectors.jobs_context import jobs_context
from cluster.services.submit_jobs import submit_jobs
from tenancy.models import User


class Command(BaseCommand):
    help = "Hands in the jobs of a file (YAML), all or none; see examples/jobs.yaml."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", help="the jobs, in YAML")
        parser.add_argument("--as", dest="by", metavar="USER", help="owner of the jobs that name none")

    def handle(self, *, file: str, by: str | None, **options: Any) -> None:
        user = User.objects.filter(username=by, is_active=True).first() if by else None
        if by and user is None:
            raise CommandError(f"--as {by}: there is no active user of this name")
        try:
            loaded = load_jobs(file, jobs_context())
            jobs = submit_jobs(loaded, by=user)
        except ImportRefused as refused:
            raise CommandError(f"no job was submitted:\n{refused}") from None
        for warning in loaded.warnings:
            self.stderr.write(self.style.WARNING(str(warning)))
        for job in jobs:
            self.stdout.write(f"job {job.pk}: {job.name}, {job.gpus} {job.gpu_model.name}, {job.tenant.name}")
