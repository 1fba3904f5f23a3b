"""How long a job waits after a failed start."""

from cluster.selectors.policy import current_policy

MOST_DOUBLINGS = 6


def backoff_s(retries: int) -> float:
    """Seconds until the next try: the policy's back-off, doubled for each earlier retry."""
    return current_policy().requeue_backoff_s * 2.0 ** min(retries, MOST_DOUBLINGS)
