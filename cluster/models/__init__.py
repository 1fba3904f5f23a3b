from cluster.models.arrival import Arrival
from cluster.models.data import CachedDataset
from cluster.models.decision import Decision, Explanation, Outcome, Tick
from cluster.models.event import Event
from cluster.models.forecast import Forecast
from cluster.models.job import Job, JobState, Kind, Locality, Objective, Tier
from cluster.models.lease import TickLease
from cluster.models.preemption import Preemption, PreemptionRule
from cluster.models.reservation import Reservation, ReservationNode
from cluster.models.run import Allocation, Checkpoint, Run, RunOutcome, RunState
from cluster.models.simulation import SimulatedClock, SimulatedFault, SimulatedGang
from cluster.models.usage import CapacityState, UsageInterval

__all__ = [
    "Allocation",
    "Arrival",
    "CachedDataset",
    "CapacityState",
    "Checkpoint",
    "Decision",
    "Event",
    "Explanation",
    "Forecast",
    "Job",
    "JobState",
    "Kind",
    "Locality",
    "Objective",
    "Outcome",
    "Preemption",
    "PreemptionRule",
    "Reservation",
    "ReservationNode",
    "Run",
    "RunOutcome",
    "RunState",
    "SimulatedClock",
    "SimulatedFault",
    "SimulatedGang",
    "Tick",
    "TickLease",
    "Tier",
    "UsageInterval",
]
