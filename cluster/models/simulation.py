"""The state of the simulated engine: what a real engine would keep outside this database."""

from django.db import models


class SimulatedClock(models.Model):
    """Virtual time = virtual_epoch + (wall − wall_epoch) × speed."""

    name = models.CharField(max_length=16, primary_key=True, default="clock")
    virtual_epoch = models.DateTimeField()
    wall_epoch = models.DateTimeField()
    speed = models.FloatField(default=1.0)
    seed = models.BigIntegerField(default=1)
    node_failures_per_1000_days = models.FloatField(default=6.5)
    repair_s = models.FloatField(default=14400.0)


class SimulatedGang(models.Model):
    """One launched gang: its whole future follows from these numbers and the stop times."""

    launch_key = models.UUIDField(unique=True)
    nodes = models.JSONField(help_text="node name → GPUs")
    spec = models.JSONField()
    launched_at = models.DateTimeField()
    ready_at = models.DateTimeField(null=True, help_text="None = some member never becomes ready.")
    work_s = models.FloatField(help_text="Work left at the start, in seconds.")
    signalled_at = models.DateTimeField(null=True)
    stop_at = models.DateTimeField(null=True, help_text="End of the grace window.")
    failed_at = models.DateTimeField(null=True, help_text="A node of it was lost at this time.")
    failed_node = models.CharField(max_length=64, blank=True)


class SimulatedFault(models.Model):
    """A node that is lost at `at` and comes back at `back_at`."""

    node = models.CharField(max_length=64)
    at = models.DateTimeField()
    back_at = models.DateTimeField()

    class Meta:
        ordering = ["at", "id"]
        constraints = [models.UniqueConstraint(fields=["node", "at"], name="one_fault_at_a_time")]
