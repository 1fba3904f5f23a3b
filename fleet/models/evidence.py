from django.db import models


class EvidenceKind(models.TextChoices):
    NODE_LOST = "node_lost", "node lost"
    NODE_BACK = "node_back", "node back"
    FAILED_START = "failed_start", "failed to become ready"


class Evidence(models.Model):
    """Something seen about a node. What it means is decided by rules, not written down here."""

    node = models.ForeignKey("fleet.Node", on_delete=models.CASCADE, related_name="evidence")
    kind = models.CharField(max_length=16, choices=EvidenceKind.choices)
    source = models.CharField(max_length=64)
    detail = models.CharField(max_length=200, blank=True)
    key = models.CharField(
        max_length=100, unique=True, help_text="The same sighting reported twice is kept once."
    )
    seen_at = models.DateTimeField()

    class Meta:
        ordering = ["-seen_at", "-id"]

    def __str__(self) -> str:
        return f"{self.node}: {self.get_kind_display()}"
