"""The scheduler's closed vocabularies, in the order in which they count."""

from enum import StrEnum


class Tier(StrEnum):
    PRODUCTION = "production"
    RESEARCH = "research"
    BEST_EFFORT = "best_effort"

    @property
    def rank(self) -> int:
        """0 is served first."""
        return _TIER_RANK[self]


_TIER_RANK = {Tier.PRODUCTION: 0, Tier.RESEARCH: 1, Tier.BEST_EFFORT: 2}


class Locality(StrEnum):
    NODE = "node"
    BLOCK = "block"
    POD = "pod"
    CLUSTER = "cluster"


class Constraint(StrEnum):
    """What can block a job, in order of precedence: the first that fails is the one that binds."""

    NEVER_FITS = "never_fits"
    ADMIN_HOLD = "admin_hold"
    START_TIME = "start_time"
    NODE_HEALTH = "node_health"
    QUOTA = "quota"
    GUARANTEE = "guarantee"
    RESERVATION = "reservation"
    GANG_SIZE = "gang_size"
    TOPOLOGY = "topology"
    POWER = "power"
    DATA = "data"
    DRAINING = "draining"
    NOT_EVALUATED = "not_evaluated"


PRECEDENCE = {constraint: rank for rank, constraint in enumerate(Constraint)}


class Phase(StrEnum):
    """What a run is doing, as far as the planner cares."""

    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"


class PreemptionRule(StrEnum):
    TIER = "tier"
    RECLAIM = "reclaim"
    BACKFILL_RETURN = "backfill_return"
