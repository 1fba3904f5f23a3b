from decimal import Decimal

from django.db import models


class GpuModel(models.Model):
    """A kind of accelerator, its draw and its price."""

    name = models.CharField(max_length=64, unique=True)
    memory_gb = models.PositiveIntegerField(null=True, blank=True)
    idle_w = models.PositiveIntegerField(null=True, blank=True, help_text="Draw of one idle GPU in watts.")
    expected_w = models.PositiveIntegerField(
        null=True, blank=True, help_text="Draw at a usual training load."
    )
    maximum_w = models.PositiveIntegerField(null=True, blank=True, help_text="Draw at its power limit.")
    usd_per_gpu_hour = models.DecimalField(max_digits=8, decimal_places=4, default=Decimal("2"))

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name
