from django.db import models


class NodeState(models.TextChoices):
    """Only `eligible` nodes get work. The others say why not."""

    ELIGIBLE = "eligible", "eligible"
    SUSPECT = "suspect", "suspect"
    QUARANTINE = "quarantine", "quarantine"
    REPAIR = "repair", "repair"
    VALIDATION = "validation", "validation"
    DRAINED = "drained", "drained"
    NOT_ACCEPTED = "not_accepted", "not accepted"


class Node(models.Model):
    """One host. `state` is what the fleet knows; `drain_by` is a person's wish, which only a person lifts."""

    name = models.CharField(max_length=64, unique=True)
    gpu_model = models.ForeignKey("fleet.GpuModel", on_delete=models.PROTECT, related_name="nodes")
    block = models.ForeignKey("fabric.Block", on_delete=models.PROTECT, related_name="nodes")
    rack = models.ForeignKey("fabric.Rack", on_delete=models.PROTECT, related_name="nodes")
    rack_unit = models.PositiveIntegerField(default=0, help_text="Height in the rack, counted from below.")
    base_w = models.PositiveIntegerField(
        null=True, blank=True, help_text="Draw of the host without its GPUs, in watts."
    )
    cache_gb = models.FloatField(
        null=True,
        blank=True,
        help_text="Local cache for datasets, in GB; empty = unknown, never refused.",
    )
    state = models.CharField(max_length=16, choices=NodeState.choices, default=NodeState.ELIGIBLE)
    state_reason = models.CharField(max_length=200, blank=True)
    state_since = models.DateTimeField()
    drain_by = models.ForeignKey("tenancy.User", null=True, blank=True, on_delete=models.PROTECT)
    drain_reason = models.CharField(max_length=200, blank=True)
    drain_asked_at = models.DateTimeField(null=True, blank=True)
    last_seen_at = models.DateTimeField(
        null=True, blank=True, help_text="Last sign of life; empty = never heard."
    )

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(drain_asked_at__isnull=True) | ~models.Q(drain_reason=""),
                name="a_drain_has_a_reason",
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def takes_work(self) -> bool:
        return self.state == NodeState.ELIGIBLE and self.drain_asked_at is None


class Gpu(models.Model):
    """One accelerator of a node."""

    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="gpus")
    index = models.PositiveSmallIntegerField()
    uuid = models.CharField(max_length=64, blank=True)
    state = models.CharField(max_length=16, choices=NodeState.choices, default=NodeState.ELIGIBLE)

    class Meta:
        ordering = ["node_id", "index"]
        constraints = [models.UniqueConstraint(fields=["node", "index"], name="one_gpu_per_slot")]

    def __str__(self) -> str:
        return f"{self.node}:{self.index}"
