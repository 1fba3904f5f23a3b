from django.db import models


class TickLease(models.Model):
    """One row: who may tick. `fence` grows with every acquisition, so a late holder is told apart."""

    name = models.CharField(max_length=32, primary_key=True)
    holder = models.CharField(max_length=64, blank=True)
    fence = models.PositiveBigIntegerField(default=0)
    expires_at = models.DateTimeField(null=True, help_text="Wall clock.")
