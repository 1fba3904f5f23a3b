"""How long a job waits after a failed start."""

from cluster.scheduler.policy import Policy
from tenancy.models import PolicyVersion

MOST_DOUBLINGS = 6


def current_policy() -> Policy:
    version = PolicyVersion.objects.order_by("-number").first()
    return Policy.from_settings(version.settings) if version else Policy()


def backoff_s(retries: int) -> float:
    """Seconds until the next try: the policy's back-off, doubled for each earlier retry."""
    return current_policy().requeue_backoff_s * 2.0 ** min(retries, MOST_DOUBLINGS)
