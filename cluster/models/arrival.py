from django.db import models


class Arrival(models.Model):
    """A job of the demonstration workload, to be submitted at its time on the engine's clock."""

    submit_at = models.DateTimeField(db_index=True)
    spec = models.JSONField()
    submitted = models.BooleanField(default=False)

    class Meta:
        ordering = ["submit_at", "id"]
