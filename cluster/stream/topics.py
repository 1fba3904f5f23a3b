"""What can be watched, and by whom."""

from collections.abc import Iterable
from dataclasses import dataclass

from cluster.models import Job
from cluster.stream.source import EventRow
from tenancy.models import Tenant
from tenancy.permissions import Action, Grants

OF_THE_CLUSTER = frozenset({"capacity", "queue", "nodes", "tenants"})


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic that exists. `tenant_id` is whose jobs it tells of; None = of the cluster as a whole."""

    name: str
    action: Action
    tenant_id: int | None = None

    def is_open_to(self, grants: Grants) -> bool:
        return grants.may(self.action, self.tenant_id)


def find_topics(names: Iterable[str]) -> dict[str, Topic]:
    """The topics of these names; what means nothing, or a job or tenant that is not there, is missing."""
    names = set(names)
    job_ids = {int(key) for key in _keys(names, "job") if key.isdecimal() and len(key) < 19}
    owners = dict(Job.objects.filter(pk__in=job_ids).values_list("pk", "tenant_id"))
    tenants = dict(Tenant.objects.filter(name__in=_keys(names, "tenant")).values_list("name", "pk"))
    found = [Topic(name, Action.SEE_CLUSTER) for name in names & OF_THE_CLUSTER]
    found += [Topic(f"job:{pk}", Action.SEE_JOB, tenant_id) for pk, tenant_id in owners.items()]
    found += [Topic(f"tenant:{name}", Action.SEE_CLUSTER, pk) for name, pk in tenants.items()]
    return {topic.name: topic for topic in found}


def small_data(event: EventRow, grants: Grants) -> dict[str, object]:
    """The data of an event as this user may see it: nothing of a job that is not theirs to see.

    The message itself goes out, for the counts it changes are everybody's; the page fetches what it may.
    """
    if event.tenant_id is None or grants.may(Action.SEE_JOB, event.tenant_id):
        return event.data
    return {}


def _keys(names: set[str], kind: str) -> list[str]:
    return [name.partition(":")[2] for name in names if name.startswith(f"{kind}:")]
