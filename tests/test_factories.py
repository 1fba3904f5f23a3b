"""The tiny cluster of the tests does what its description says."""

from cluster.models import JobState, RunState
from tenancy.models import Role


def test_a_job_of_the_tiny_cluster_starts_runs_and_completes(two_tenants):
    tiny = two_tenants.tiny
    job = tiny.running(two_tenants.vision, gpus=16)
    assert tiny.run_of(job).state == RunState.RUNNING

    tiny.advance(3600, every_s=600)

    assert tiny.fresh(job).state == JobState.COMPLETED


def test_people_hold_one_role_each(two_tenants):
    held = {name: user.memberships.get().role for name, user in two_tenants.people.items()}
    assert held == {role.value: role.value for role in Role}
