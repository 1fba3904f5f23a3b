from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models


class FeedStatus(models.TextChoices):
    """Only what is active carries anything."""

    PLANNED = "planned", "planned"
    ACTIVE = "active", "active"
    OFFLINE = "offline", "offline"
    FAILED = "failed", "failed"


class PowerPanel(models.Model):
    """What feeds several feeds. Its own limit may be below the sum of theirs."""

    name = models.CharField(max_length=64, unique=True)
    limit_w = models.PositiveIntegerField(null=True, blank=True, help_text="In watts; empty = none stated.")

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class PowerFeed(models.Model):
    """One circuit into one rack, with its breaker."""

    name = models.CharField(max_length=64)
    rack = models.ForeignKey("fabric.Rack", on_delete=models.CASCADE, related_name="feeds")
    panel = models.ForeignKey(
        PowerPanel, null=True, blank=True, on_delete=models.PROTECT, related_name="feeds"
    )
    voltage_v = models.FloatField(help_text="Line to line where it has three phases.")
    amperage_a = models.FloatField(validators=[MinValueValidator(0)], help_text="Rating of the breaker.")
    phases = models.PositiveSmallIntegerField(choices=[(1, "single phase"), (3, "three phases")], default=3)
    max_utilization = models.FloatField(
        default=0.8,
        validators=[MinValueValidator(0), MaxValueValidator(1)],
        help_text="Share of the rating that a continuous load may take.",
    )
    power_factor = models.FloatField(
        default=1.0,
        validators=[MinValueValidator(0), MaxValueValidator(1)],
        help_text="W for each VA; 1 is an assumption, not a measurement.",
    )
    status = models.CharField(max_length=8, choices=FeedStatus.choices, default=FeedStatus.ACTIVE)

    class Meta:
        ordering = ["rack_id", "name"]
        constraints = [models.UniqueConstraint(fields=["rack", "name"], name="one_feed_of_a_name_in_a_rack")]

    def __str__(self) -> str:
        return f"feed {self.name} of rack {self.rack}"


class CoolingZone(models.Model):
    """Racks that are cooled together. Heat out is power in."""

    name = models.CharField(max_length=64, unique=True)
    racks = models.ManyToManyField("fabric.Rack", related_name="cooling_zones", blank=True)
    liquid_fraction = models.FloatField(
        default=0.0,
        validators=[MinValueValidator(0), MaxValueValidator(1)],
        help_text="Share of the heat that liquid takes away; the rest goes to the air.",
    )

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class CoolingSide(models.TextChoices):
    AIR = "air", "air"
    LIQUID = "liquid", "liquid"


class CoolingUnit(models.Model):
    """One machine that takes heat out of a zone."""

    name = models.CharField(max_length=64)
    zone = models.ForeignKey(CoolingZone, on_delete=models.CASCADE, related_name="units")
    side = models.CharField(max_length=8, choices=CoolingSide.choices, default=CoolingSide.AIR)
    capacity_w = models.PositiveIntegerField(help_text="Heat it takes away, in watts.")
    status = models.CharField(max_length=8, choices=FeedStatus.choices, default=FeedStatus.ACTIVE)

    class Meta:
        ordering = ["zone_id", "name"]
        constraints = [models.UniqueConstraint(fields=["zone", "name"], name="one_unit_of_a_name_in_a_zone")]

    def __str__(self) -> str:
        return f"{self.name} of {self.zone}"
