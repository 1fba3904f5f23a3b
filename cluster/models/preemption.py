from django.db import models


class PreemptionRule(models.TextChoices):
    TIER = "tier", "a higher tier needed the GPUs"
    RECLAIM = "reclaim", "a lender called its loan back"
    BACKFILL_RETURN = "backfill_return", "backfill gave way to the reservation it ran before"


class Preemption(models.Model):
    """The receipt of one preemption, shown to both sides."""

    victim = models.OneToOneField("cluster.Run", on_delete=models.CASCADE, related_name="preemption")
    by_job = models.ForeignKey("cluster.Job", null=True, on_delete=models.SET_NULL, related_name="preempted")
    rule = models.CharField(max_length=16, choices=PreemptionRule.choices)
    level = models.CharField(max_length=128, help_text="Where in the tenant tree the rule applied.")
    gpus = models.PositiveIntegerField()
    signalled_at = models.DateTimeField()
    deadline = models.DateTimeField(help_text="Signal + grace window.")
    ended_at = models.DateTimeField(null=True, blank=True)
    lost_gpu_hours = models.FloatField(null=True, blank=True, help_text="Unknown until the run has ended.")
    tick = models.ForeignKey("cluster.Tick", null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        ordering = ["-signalled_at", "-id"]
