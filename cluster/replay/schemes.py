"""The policies of a replay: ours, and three plain ones to hold it against. All share one event loop."""

from dataclasses import dataclass, replace

from cluster.scheduler.policy import Policy, Queueing


@dataclass(frozen=True, slots=True)
class Scheme:
    """A policy with the name under which a report shows it."""

    key: str
    title: str
    says: str
    policy: Policy


def schemes(policy: Policy) -> list[Scheme]:
    """Lockstep under this policy first, then the baselines. What they do not define they share with it."""
    pool = replace(policy, quotas=False, preemption=False)
    return [
        Scheme("lockstep", "Lockstep", "the policy under test", policy),
        Scheme(
            "fifo",
            "Strict FIFO",
            "one pool, strictly by age: nothing passes a blocked head",
            replace(pool, queueing=Queueing.FIFO),
        ),
        Scheme(
            "easy",
            "FIFO + EASY backfill",
            "one pool by age; what is expected to end in time may pass the blocked head",
            replace(pool, queueing=Queueing.EASY),
        ),
        Scheme(
            "hard_quotas",
            "Hard quotas",
            "as Lockstep, but idle entitlement is never lent",
            replace(policy, lending=False),
        ),
    ]
