"""The cluster as jobs files are checked against it."""

from django.db.models import Count

from cluster.imports.jobs_checks import JobsContext
from cluster.scheduler.fleet import Fleet, NodeView
from fleet.models import Node
from tenancy.models import Entitlement, Tenant, User


def jobs_context() -> JobsContext:
    """Installed nodes (in whatever state), tenants and users. Five queries."""
    nodes = Node.objects.select_related("gpu_model", "block__pod").annotate(installed=Count("gpus"))
    organisations = set(
        Tenant.objects.filter(children__isnull=False).values_list("name", flat=True).distinct()
    )
    return JobsContext(
        fleet=Fleet(
            NodeView(n.name, n.gpu_model.name, n.installed, n.block.name, n.block.pod.name) for n in nodes
        ),
        teams=set(Tenant.objects.values_list("name", flat=True)) - organisations,
        organisations=organisations,
        owners=set(User.objects.filter(is_active=True).values_list("username", flat=True)),
        usual_models=_usual_models(),
    )


def _usual_models() -> dict[str, str]:
    """Tenant → the model it is entitled to most of, as `submit_job` chooses it."""
    rows = Entitlement.objects.order_by("gpus").values_list("tenant__name", "gpu_model")
    return dict(rows)
