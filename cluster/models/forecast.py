from django.db import models


class Forecast(models.Model):
    """When a waiting job is expected to start, from a forward replay. Empty times = not foreseen."""

    job = models.OneToOneField("cluster.Job", on_delete=models.CASCADE, related_name="forecast")
    median_at = models.DateTimeField(null=True)
    p90_at = models.DateTimeField(null=True)
    samples = models.PositiveIntegerField(help_text="Replays made.")
    computed_at = models.DateTimeField()
