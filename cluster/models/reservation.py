from django.db import models


class Reservation(models.Model):
    """Nodes being gathered for one gang. `ready_at` moves earlier, or with a run that overruns."""

    class Why(models.TextChoices):
        GATHERING = "gathering", "gathering freed nodes"
        DRAINING = "draining", "waiting for preempted runs to leave"

    job = models.ForeignKey("cluster.Job", on_delete=models.CASCADE, related_name="reservations")
    why = models.CharField(max_length=16, choices=Why.choices)
    created_at = models.DateTimeField()
    ready_at = models.DateTimeField(null=True, blank=True, help_text="When the set is expected to be whole.")
    bound_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="No later than this if no run overruns; empty = no bound can be given.",
    )
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["job"],
                condition=models.Q(closed_at__isnull=True),
                name="one_open_reservation_per_job",
            )
        ]


class ReservationNode(models.Model):
    reservation = models.ForeignKey(Reservation, on_delete=models.CASCADE, related_name="nodes")
    node = models.ForeignKey("fleet.Node", on_delete=models.CASCADE, related_name="+")
    gpus = models.PositiveIntegerField(help_text="GPUs wanted on this node.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["reservation", "node"], name="reservation_names_a_node_once")
        ]
