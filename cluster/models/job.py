from django.core.validators import MinValueValidator
from django.db import models


class Tier(models.TextChoices):
    PRODUCTION = "production", "production"
    RESEARCH = "research", "research"
    BEST_EFFORT = "best_effort", "best effort"


class Kind(models.TextChoices):
    TRAINING = "training", "training"
    FINE_TUNING = "fine_tuning", "fine-tuning"
    EVAL = "eval", "eval"


class Locality(models.TextChoices):
    """How close together a gang must or would like to be; each level contains the one before."""

    NODE = "node", "one node"
    BLOCK = "block", "one block"
    POD = "pod", "one pod"
    CLUSTER = "cluster", "anywhere"


class Objective(models.TextChoices):
    """What a job would have of its start where it may start now, spread out, or later on a closer set."""

    COMPLETION = "completion", "earliest completion"
    DEADLINE = "deadline", "its deadline, at the least cost"
    COST = "cost", "least cost"


class JobState(models.TextChoices):
    PENDING = "pending", "pending"
    ACTIVE = "active", "active"
    COMPLETED = "completed", "completed"
    FAILED = "failed", "failed"
    CANCELLED = "cancelled", "cancelled"


class Job(models.Model):
    """What a tenant asks for. It outlives its runs: a preempted job is the same job, with its age kept."""

    name = models.CharField(max_length=128)
    tenant = models.ForeignKey("tenancy.Tenant", on_delete=models.PROTECT, related_name="jobs")
    owner = models.ForeignKey("tenancy.User", on_delete=models.PROTECT, related_name="jobs")
    tier = models.CharField(max_length=16, choices=Tier.choices)
    kind = models.CharField(max_length=16, choices=Kind.choices, default=Kind.TRAINING)

    gpus = models.PositiveIntegerField(validators=[MinValueValidator(1)], help_text="GPUs of the whole gang.")
    nodes = models.PositiveIntegerField(
        null=True, blank=True, help_text="Nodes, when stated as nodes × GPUs."
    )
    gpus_per_node = models.PositiveIntegerField(null=True, blank=True)
    gpu_model = models.ForeignKey(
        "fleet.GpuModel",
        on_delete=models.PROTECT,
        related_name="+",
        help_text="The GPU model the gang runs on.",
    )
    locality_required = models.CharField(max_length=8, choices=Locality.choices, default=Locality.CLUSTER)
    locality_preferred = models.CharField(max_length=8, choices=Locality.choices, default=Locality.BLOCK)

    objective = models.CharField(max_length=12, choices=Objective.choices, default=Objective.COMPLETION)
    deadline = models.DateTimeField(
        null=True, blank=True, help_text="Wanted done by; read with the objective deadline."
    )

    expected_duration_s = models.PositiveIntegerField(validators=[MinValueValidator(1)])
    time_limit_s = models.PositiveIntegerField(
        null=True, blank=True, help_text="A run is stopped after this many seconds; empty = no limit."
    )
    preemptible = models.BooleanField(
        default=True, help_text="Production is never preempted, whatever stands here."
    )
    checkpoint_on_signal = models.BooleanField(default=True)
    checkpoint_interval_s = models.PositiveIntegerField(
        null=True, blank=True, help_text="Seconds between checkpoints of its own; empty = none."
    )
    checkpoint_cost_s = models.PositiveIntegerField(default=60)
    grace_s = models.PositiveIntegerField(
        default=120, help_text="From checkpoint signal to stop, at the most."
    )
    restart_cost_s = models.PositiveIntegerField(
        default=120, help_text="Lost at each start: restore and warm-up."
    )
    readiness_timeout_s = models.PositiveIntegerField(default=1800)
    retry_limit = models.PositiveIntegerField(default=3, help_text="Failed starts and lost nodes survived.")
    preemption_budget = models.PositiveIntegerField(
        default=3, help_text="After so many preemptions by a tier it is left alone; reclaim does not count."
    )
    gpu_draw_w = models.FloatField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Expected draw of one GPU at work, in watts; empty = what its model usually draws.",
    )
    dataset = models.CharField(max_length=200, blank=True)
    dataset_gb = models.FloatField(null=True, blank=True)
    code_version = models.CharField(max_length=200, blank=True)
    workload = models.JSONField(default=dict, blank=True, help_text="Passed to the engine as it is.")

    state = models.CharField(max_length=16, choices=JobState.choices, default=JobState.PENDING)
    state_reason = models.CharField(max_length=200, blank=True)
    submitted_at = models.DateTimeField()
    queued_at = models.DateTimeField(help_text="Its age in the queue; a requeue does not reset it.")
    not_before = models.DateTimeField(null=True, blank=True)
    admin_hold = models.BooleanField(default=False)
    hold_reason = models.CharField(max_length=200, blank=True)
    hold_by = models.ForeignKey(
        "tenancy.User", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    progress_s = models.FloatField(default=0.0, help_text="Seconds of work that the last checkpoint keeps.")
    retries = models.PositiveIntegerField(default=0)
    preemptions = models.PositiveIntegerField(default=0)
    ended_at = models.DateTimeField(null=True, blank=True)
    version = models.PositiveIntegerField(default=1, help_text="Raised by every change; compare-and-swap.")

    class Meta:
        ordering = ["queued_at", "id"]
        indexes = [
            models.Index(fields=["state", "queued_at", "id"], name="job_queue"),
            models.Index(fields=["tenant", "state"], name="job_tenant_state"),
            models.Index(fields=["-submitted_at", "-id"], name="job_newest"),
        ]
        constraints = [
            models.CheckConstraint(condition=models.Q(gpus__gte=1), name="job_asks_for_a_gpu"),
            models.CheckConstraint(
                condition=models.Q(nodes__isnull=True, gpus_per_node__isnull=True)
                | models.Q(gpus=models.F("nodes") * models.F("gpus_per_node")),
                name="job_gpus_is_nodes_times_gpus",
            ),
            models.CheckConstraint(
                condition=models.Q(admin_hold=False) | ~models.Q(hold_reason=""), name="a_hold_has_a_reason"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} (job {self.pk})"

    @property
    def is_preemptible(self) -> bool:
        return self.preemptible and self.tier != Tier.PRODUCTION

    @property
    def is_over(self) -> bool:
        return self.state in (JobState.COMPLETED, JobState.FAILED, JobState.CANCELLED)
