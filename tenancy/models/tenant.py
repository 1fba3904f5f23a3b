from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models

SLUG = RegexValidator(r"^[a-z0-9][a-z0-9._-]*$", "use lower-case letters, digits, '.', '_' or '-'")


class Tenant(models.Model):
    """An organisation or a team. Teams submit jobs; an organisation groups teams and bounds them together."""

    name = models.CharField(max_length=64, unique=True, validators=[SLUG])
    title = models.CharField(max_length=128, blank=True)
    parent = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="children"
    )
    weight = models.FloatField(
        default=1.0,
        validators=[MinValueValidator(0.0)],
        help_text="Share of loaned capacity relative to its siblings.",
    )

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(condition=models.Q(weight__gte=0), name="tenant_weight_not_negative"),
            models.CheckConstraint(
                condition=~models.Q(parent=models.F("id")), name="tenant_is_not_its_own_parent"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        seen, above = {self.pk}, self.parent
        while above is not None:
            if above.pk in seen:
                raise ValidationError(
                    {"parent": f"'{above.name}' is below '{self.name}': the tree would be a ring"}
                )
            seen.add(above.pk)
            above = above.parent
