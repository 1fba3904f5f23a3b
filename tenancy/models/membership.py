from django.db import models


class Role(models.TextChoices):
    CLUSTER_OWNER = "cluster_owner", "cluster owner"
    TENANT_ADMIN = "tenant_admin", "tenant admin"
    RELEASE_OWNER = "release_owner", "release owner"
    RESEARCHER = "researcher", "researcher"
    VIEWER = "viewer", "viewer"


class Membership(models.Model):
    """A user's role, cluster-wide (no tenant) or in one tenant and everything below it."""

    user = models.ForeignKey("tenancy.User", on_delete=models.CASCADE, related_name="memberships")
    tenant = models.ForeignKey(
        "tenancy.Tenant", null=True, blank=True, on_delete=models.CASCADE, related_name="memberships"
    )
    role = models.CharField(max_length=16, choices=Role.choices)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "tenant", "role"], name="one_role_per_tenant"),
            models.UniqueConstraint(
                fields=["user", "role"], condition=models.Q(tenant__isnull=True), name="one_role_cluster_wide"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user}: {self.get_role_display()} of {self.tenant or 'the cluster'}"
