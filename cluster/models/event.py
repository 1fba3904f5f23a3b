from django.db import models


class Event(models.Model):
    """What happened, in order. Its id is the cursor that pages resume from.

    The row is the truth, a message about it a hint.
    """

    kind = models.CharField(max_length=32)
    topics = models.JSONField(help_text="The websocket topics it belongs to.")
    tenant = models.ForeignKey("tenancy.Tenant", null=True, on_delete=models.SET_NULL, related_name="+")
    job = models.ForeignKey("cluster.Job", null=True, on_delete=models.CASCADE, related_name="events")
    node = models.ForeignKey("fleet.Node", null=True, on_delete=models.CASCADE, related_name="events")
    data = models.JSONField(default=dict)
    at = models.DateTimeField(help_text="The engine's clock.")
    wall_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index(fields=["job", "id"], name="event_job"),
            models.Index(fields=["kind", "-id"], name="event_kind"),
        ]
