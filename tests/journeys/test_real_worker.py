"""A worker in a process of its own ticks, and a page in this process hears of it, in both modes."""

import asyncio
import sys
from io import StringIO

import pytest
from channels.db import database_sync_to_async
from django.core.management import call_command

from cluster.models import Job, JobState, Tick
from cluster.supervisor import programs
from tenancy.models import Role
from tests.journeys.processes import ROOT, running
from tests.stream.conftest import open_page, person  # noqa: F401

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def worker(tmp_path, transactional_db):
    with running(programs.worker(tmp_path), tmp_path) as child:
        yield child
        if Tick.objects.count() == 0:
            sys.stderr.write(child.log_tail(40))


@database_sync_to_async
def prepare_a_job() -> Job:
    call_command("import_cluster", str(ROOT / "examples/cluster.yaml"), stdout=StringIO())
    call_command("submit", str(ROOT / "examples/jobs.yaml"), by="rita", stdout=StringIO())
    return Job.objects.get(name="quick-look")


@pytest.mark.usefixtures("worker")
async def test_a_job_is_started_by_the_worker_and_its_page_hears_of_it(open_page):  # noqa: F811
    job = await prepare_a_job()
    page = await open_page(await person("wendy", Role.CLUSTER_OWNER))
    await page.subscribe(f"job:{job.pk}", cursor=0)
    async with asyncio.timeout(60):
        while (await state_of(job)) == JobState.PENDING:
            await asyncio.sleep(0.2)
        heard = await page.hears()
        while heard.get("kind") == "job.submitted" or heard["type"] != "event":
            heard = await page.hears()
    assert heard["topic"] == f"job:{job.pk}"


@database_sync_to_async
def state_of(job: Job) -> str:
    job.refresh_from_db(fields=["state"])
    return job.state
