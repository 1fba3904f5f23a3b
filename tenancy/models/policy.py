from django.db import models


class PolicyVersion(models.Model):
    """The scheduling policy as published. Versions are never edited; every tick names the one it used.

    `settings` holds the fields of `cluster.scheduler.policy.Policy`; a missing field means its default.
    """

    number = models.PositiveIntegerField(unique=True)
    settings = models.JSONField(default=dict)
    published_at = models.DateTimeField()
    published_by = models.ForeignKey("tenancy.User", null=True, on_delete=models.PROTECT)
    note = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["-number"]

    def __str__(self) -> str:
        return f"policy {self.number}"
