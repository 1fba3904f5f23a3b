from django.db import models


class Entitlement(models.Model):
    """The guaranteed GPUs of one tenant for one GPU model, and how far it lends and borrows.

    `gpu_model` is the model's name: tenancy lies below the fleet and does not import it.
    A limit of None is unlimited; 0 means none at all.
    """

    tenant = models.ForeignKey("tenancy.Tenant", on_delete=models.CASCADE, related_name="entitlements")
    gpu_model = models.CharField(max_length=64)
    gpus = models.PositiveIntegerField()
    lending_limit = models.PositiveIntegerField(
        null=True, blank=True, help_text="Most idle GPUs lent at once; empty = all of them."
    )
    borrowing_limit = models.PositiveIntegerField(
        null=True, blank=True, help_text="Most GPUs used above the entitlement; empty = no limit."
    )

    class Meta:
        ordering = ["tenant__name", "gpu_model"]
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "gpu_model"], name="one_entitlement_per_tenant_and_model"
            )
        ]

    def __str__(self) -> str:
        return f"{self.tenant}: {self.gpus} {self.gpu_model}"
