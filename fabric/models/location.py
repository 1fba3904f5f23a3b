from django.db import models


class Pod(models.Model):
    """Blocks under one spine group: the largest piece with full bandwidth inside."""

    name = models.CharField(max_length=64, unique=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Block(models.Model):
    """Nodes under one leaf switch, or in one NVLink domain."""

    name = models.CharField(max_length=64, unique=True)
    pod = models.ForeignKey(Pod, on_delete=models.PROTECT, related_name="blocks")

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Rack(models.Model):
    """A physical rack. Where it stands is for the map; what it may draw is for the planner."""

    name = models.CharField(max_length=64, unique=True)
    row = models.CharField(max_length=32, blank=True)
    position = models.PositiveIntegerField(default=0, help_text="Place in its row, counted from the left.")
    power_limit_w = models.PositiveIntegerField(
        null=True, blank=True, help_text="What the rack may draw in watts; empty = unknown."
    )

    class Meta:
        ordering = ["row", "position", "name"]

    def __str__(self) -> str:
        return self.name
