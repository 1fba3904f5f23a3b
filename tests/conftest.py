"""What every test may use. Fixtures of one subject live beside its tests."""

import pytest
from django.utils import timezone

from cluster.models import Job
from tests.factories import TinyCluster, TwoTenants


@pytest.fixture
def tiny(db) -> TinyCluster:
    """64 GPUs without tenants, on a clock that stands still."""
    return TinyCluster()


@pytest.fixture
def two_tenants(db) -> TwoTenants:
    """The same with two teams of 32 GPUs each below one organisation, and a user of every role."""
    return TwoTenants.build()


@pytest.fixture
def make_job():
    """Rows of jobs with the least that a job needs; tests of submission go through the service instead."""

    def make(tenant, **fields) -> Job:
        from fleet.models import GpuModel
        from tenancy.models import User

        fields.setdefault("gpu_model", GpuModel.objects.get_or_create(name="H100")[0])
        owner = fields.pop("owner", None) or User.objects.get_or_create(username=f"owner-of-{tenant.name}")[0]
        now = timezone.now()
        least = {
            "name": "job",
            "gpus": 8,
            "expected_duration_s": 3600,
            "submitted_at": now,
            "queued_at": now,
        }
        return Job.objects.create(tenant=tenant, owner=owner, **{**least, **fields})

    return make
