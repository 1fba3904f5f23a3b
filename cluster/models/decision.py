from django.db import models


class Outcome(models.TextChoices):
    START = "start", "start"
    HOLD = "hold", "hold"


class Tick(models.Model):
    """One pass of the control loop, and what it cost."""

    number = models.PositiveBigIntegerField(unique=True)
    fence = models.PositiveBigIntegerField(help_text="The lease it was made under.")
    now = models.DateTimeField(help_text="The engine's clock.")
    wall_at = models.DateTimeField(help_text="The wall clock, for freshness.")
    policy = models.ForeignKey("tenancy.PolicyVersion", null=True, on_delete=models.PROTECT)
    observe_ms = models.FloatField(default=0)
    plan_ms = models.FloatField(default=0)
    apply_ms = models.FloatField(default=0)
    engine_ms = models.FloatField(default=0)
    pending = models.PositiveIntegerField(default=0)
    started = models.PositiveIntegerField(default=0)
    held = models.PositiveIntegerField(default=0)
    preempted = models.PositiveIntegerField(default=0)
    stale = models.PositiveIntegerField(default=0, help_text="Decisions overtaken by the world.")
    planner = models.CharField(max_length=8, default="greedy", help_text="Whose plan it was: greedy or milp.")
    solver = models.JSONField(
        default=list,
        blank=True,
        help_text="What the solver said of each GPU model with a choice: status, bound, gap, size, seconds.",
    )
    note = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["-number"]


class Explanation(models.Model):
    """Why jobs of one shape are held: verdicts shared by all equal jobs, brought up to date each tick."""

    key = models.CharField(max_length=64, unique=True)
    constraint = models.CharField(max_length=16, help_text="The one that binds.")
    verdicts = models.JSONField()
    evaluated_at = models.DateTimeField()
    tick = models.ForeignKey(Tick, null=True, on_delete=models.SET_NULL, related_name="+")


class Decision(models.Model):
    """What was decided of a job and why. A pending job has exactly one that is not superseded."""

    job = models.ForeignKey("cluster.Job", on_delete=models.CASCADE, related_name="decisions")
    outcome = models.CharField(max_length=8, choices=Outcome.choices)
    constraint = models.CharField(max_length=16, blank=True, help_text="What binds; empty for a start.")
    signature = models.CharField(
        max_length=300, blank=True, help_text="Reason and scope without numbers; a change is a new decision."
    )
    verdicts = models.JSONField(help_text="As they stood when the decision was made.")
    explanation = models.ForeignKey(
        Explanation,
        null=True,
        on_delete=models.SET_NULL,
        related_name="decisions",
        help_text="As they stand now.",
    )
    choice = models.JSONField(
        null=True, help_text="Start now spread out, or wait for a closer set: both estimates, if weighed."
    )
    run = models.ForeignKey("cluster.Run", null=True, on_delete=models.SET_NULL, related_name="decisions")
    tick = models.ForeignKey(Tick, null=True, on_delete=models.SET_NULL, related_name="decisions")
    made_at = models.DateTimeField()
    superseded_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-made_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["job"],
                condition=models.Q(superseded_at__isnull=True),
                name="one_open_decision_per_job",
            )
        ]
