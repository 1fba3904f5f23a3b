from django.db import models


class CapacityState(models.TextChoices):
    """At each instant every installed GPU is in exactly one of these."""

    BUSY = "busy", "busy"
    IDLE_ALLOCATED = "idle_allocated", "allocated but idle"
    UNKNOWN_ALLOCATED = "unknown_allocated", "allocated, no signal"
    STARTING = "starting", "starting"
    RESERVED = "reserved", "reserved"
    PLACEABLE = "placeable", "placeable"
    STRANDED = "stranded", "stranded"
    UNAVAILABLE = "unavailable", "unavailable"


class UsageInterval(models.Model):
    """So many GPUs were in one state for one holder, from started_at up to ended_at (open while None).

    At each instant the open rows sum to the installed GPUs: the capacity identity.
    """

    state = models.CharField(max_length=20, choices=CapacityState.choices)
    gpu_model = models.ForeignKey("fleet.GpuModel", on_delete=models.PROTECT, related_name="+")
    tenant = models.ForeignKey("tenancy.Tenant", null=True, on_delete=models.PROTECT, related_name="usage")
    job = models.ForeignKey("cluster.Job", null=True, on_delete=models.CASCADE, related_name="usage")
    run = models.ForeignKey("cluster.Run", null=True, on_delete=models.CASCADE, related_name="usage")
    loan_gpus = models.PositiveIntegerField(default=0, help_text="How many of them are on loan.")
    gpus = models.PositiveIntegerField()
    usd_per_gpu_hour = models.DecimalField(max_digits=8, decimal_places=4)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["started_at", "id"]
        indexes = [
            models.Index(fields=["ended_at", "started_at"], name="usage_window"),
            models.Index(fields=["tenant", "ended_at"], name="usage_tenant"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(ended_at__isnull=True) | models.Q(ended_at__gt=models.F("started_at")),
                name="usage_has_length",
            ),
            models.CheckConstraint(condition=models.Q(gpus__gte=1), name="usage_counts_a_gpu"),
            models.CheckConstraint(
                condition=models.Q(loan_gpus__lte=models.F("gpus")), name="usage_loan_within_gpus"
            ),
        ]
