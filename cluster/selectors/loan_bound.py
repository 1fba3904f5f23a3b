"""How soon loans come back when they are called."""

from cluster.models import UsageInterval
from cluster.selectors.policy import in_force


def back_within_s() -> float | None:
    """The longest grace window among runs on loan now, in seconds; None without a loan. Two queries."""
    lent = UsageInterval.objects.filter(ended_at=None, loan_gpus__gt=0, job__isnull=False).order_by()
    graces = list(lent.values_list("job__grace_s", flat=True).distinct())
    return min(float(max(graces)), float(in_force()["settings"]["max_grace_s"])) if graces else None
