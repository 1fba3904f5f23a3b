import uuid

from django.db import models


class RunState(models.TextChoices):
    LAUNCHING = "launching", "launching"  # decided and committed; the engine has not answered yet
    STARTING = "starting", "starting"  # staging data, starting, restoring
    RUNNING = "running", "running"
    STOPPING = "stopping", "stopping"  # signalled; its GPUs are still its own
    ENDED = "ended", "ended"


class RunOutcome(models.TextChoices):
    COMPLETED = "completed", "completed"
    FAILED = "failed", "failed"
    PREEMPTED = "preempted", "preempted"
    NODE_FAILURE = "node_failure", "node failure"
    START_FAILED = "start_failed", "start failed"
    CANCELLED = "cancelled", "cancelled"
    TIME_LIMIT = "time_limit", "time limit"


class Run(models.Model):
    """One attempt of a job, with its gang whole."""

    job = models.ForeignKey("cluster.Job", on_delete=models.CASCADE, related_name="runs")
    number = models.PositiveIntegerField(help_text="Counted per job, from 1.")
    launch_key = models.UUIDField(
        unique=True, default=uuid.uuid4, help_text="The same key never starts twice."
    )
    state = models.CharField(max_length=16, choices=RunState.choices, default=RunState.LAUNCHING)
    outcome = models.CharField(max_length=16, choices=RunOutcome.choices, blank=True)
    tick = models.ForeignKey("cluster.Tick", null=True, on_delete=models.SET_NULL, related_name="runs")
    planned_at = models.DateTimeField()
    launched_at = models.DateTimeField(null=True, blank=True, help_text="When the engine took it.")
    ready_at = models.DateTimeField(null=True, blank=True)
    stop_requested_at = models.DateTimeField(null=True, blank=True)
    stop_reason = models.CharField(max_length=16, choices=RunOutcome.choices, blank=True)
    grace_until = models.DateTimeField(null=True, blank=True)
    stop_sent = models.BooleanField(default=False, help_text="The engine has acknowledged the stop.")
    ended_at = models.DateTimeField(null=True, blank=True)
    resumed_from_s = models.FloatField(
        default=0.0, help_text="Work already done when it started, in seconds."
    )
    progress_s = models.FloatField(null=True, blank=True, help_text="Work done when last heard of.")
    last_checkpoint_at = models.DateTimeField(null=True, blank=True)
    lost_s = models.FloatField(null=True, blank=True, help_text="Work redone because of how it ended.")
    is_backfill = models.BooleanField(default=False, help_text="Runs in the gap before a reservation.")
    activity_busy_gpus = models.PositiveIntegerField(null=True, blank=True)
    activity_at = models.DateTimeField(null=True, blank=True, help_text="Time of the activity signal.")
    engine_note = models.CharField(max_length=200, blank=True)
    exit_code = models.IntegerField(null=True, blank=True)

    class Meta:
        ordering = ["job_id", "number"]
        indexes = [models.Index(fields=["state"], name="run_state")]
        constraints = [
            models.UniqueConstraint(fields=["job", "number"], name="run_number_once_per_job"),
            models.UniqueConstraint(
                fields=["job"], condition=~models.Q(state="ended"), name="one_open_run_per_job"
            ),
            models.CheckConstraint(
                condition=models.Q(state="ended", ended_at__isnull=False) & ~models.Q(outcome="")
                | ~models.Q(state="ended") & models.Q(ended_at__isnull=True, outcome=""),
                name="an_ended_run_has_time_and_outcome",
            ),
        ]

    def __str__(self) -> str:
        return f"run {self.number} of job {self.job_id}"


class Allocation(models.Model):
    """One GPU held by one run. The database lets a GPU be in one open allocation at most."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="allocations")
    gpu = models.ForeignKey("fleet.Gpu", on_delete=models.PROTECT, related_name="allocations")
    node = models.ForeignKey("fleet.Node", on_delete=models.PROTECT, related_name="allocations")
    started_at = models.DateTimeField()
    released_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["run", "node"], condition=models.Q(released_at__isnull=True), name="allocation_open"
            )
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["gpu"],
                condition=models.Q(released_at__isnull=True),
                name="gpu_in_one_open_allocation",
            ),
            models.CheckConstraint(
                condition=models.Q(released_at__isnull=True)
                | models.Q(released_at__gte=models.F("started_at")),
                name="allocation_ends_after_start",
            ),
        ]


class Checkpoint(models.Model):
    """A durable checkpoint that the engine reported."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="checkpoints")
    progress_s = models.FloatField(help_text="Seconds of work it keeps, from the start of the job.")
    at = models.DateTimeField()

    class Meta:
        ordering = ["at"]
        constraints = [models.UniqueConstraint(fields=["run", "at"], name="one_checkpoint_at_a_time")]
