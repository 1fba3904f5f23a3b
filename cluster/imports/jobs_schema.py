"""What a jobs file may hold. `examples/jobs.yaml` shows all of it with explanations."""

from typing import Annotated, Any, Literal

from pydantic import Field

from cluster.imports.fields import (
    Count,
    CountOrNone,
    Entry,
    Moment,
    Name,
    Seconds,
    SomeSeconds,
    Text,
    UserName,
)

Tier = Literal["production", "research", "best_effort"]
Kind = Literal["training", "fine_tuning", "eval"]
Objective = Literal["completion", "deadline", "cost"]
Locality = Literal["node", "block", "pod", "cluster"]


class LocalityEntry(Entry):
    """How close together the gang must be, and would like to be."""

    required: Locality = "cluster"
    preferred: Locality = "block"


class CheckpointEntry(Entry):
    """How the job saves its work: on a signal within its grace, and of its own accord every so often."""

    on_signal: bool = True
    interval_s: SomeSeconds | None = None
    cost_s: Seconds = 60
    grace_s: Seconds = 120


class JobEntry(Entry):
    """One job: either `gpus`, or `nodes` and `gpus_per_node`."""

    name: Annotated[str, Field(min_length=1, max_length=128)]
    tenant: Name
    owner: UserName | None = None
    tier: Tier = "research"
    kind: Kind = "training"
    gpus: Count | None = None
    nodes: Count | None = None
    gpus_per_node: Count | None = None
    gpu_model: Name | None = None
    locality: LocalityEntry = LocalityEntry()
    objective: Objective = "completion"
    deadline: Moment | None = None
    expected_duration_s: SomeSeconds
    time_limit_s: SomeSeconds | None = None
    not_before: Moment | None = None
    preemptible: bool = True
    checkpoint: CheckpointEntry = CheckpointEntry()
    restart_cost_s: Seconds = 120
    readiness_timeout_s: SomeSeconds = 1800
    retry_limit: CountOrNone = 3
    preemption_budget: CountOrNone = 3
    gpu_draw_w: Annotated[float, Field(ge=1, le=1e5, allow_inf_nan=False)] | None = None
    dataset: Text = ""
    dataset_gb: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    code_version: Text = ""
    workload: dict[str, Any] = {}

    @property
    def gang_gpus(self) -> int | None:
        """GPUs of the whole gang; None when the entry does not say it in one way."""
        if self.gpus is not None:
            return self.gpus
        return self.nodes * self.gpus_per_node if self.nodes and self.gpus_per_node else None


class JobsFile(Entry):
    jobs: Annotated[list[JobEntry], Field(min_length=1)]
