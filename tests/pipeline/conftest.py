"""Stories of the whole loop, on a cluster that is audited after every tick (audit.py)."""

from dataclasses import dataclass

import pytest

from tenancy.models import Tenant
from tests.pipeline.audit import AuditedCluster


@dataclass(frozen=True)
class Lab:
    """64 GPUs, shared by two teams of 32 each."""

    tiny: AuditedCluster
    vision: Tenant
    speech: Tenant


@pytest.fixture
def tiny(db) -> AuditedCluster:
    return AuditedCluster()


@pytest.fixture
def lab(tiny) -> Lab:
    organisation = tiny.tenant("lab")
    return Lab(
        tiny,
        tiny.tenant("vision", gpus=32, parent=organisation),
        tiny.tenant("speech", gpus=32, parent=organisation),
    )
