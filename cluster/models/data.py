from django.db import models


class CachedDataset(models.Model):
    """A dataset that is whole in a node's local cache. What runs there, or gathers there, is not evicted."""

    node = models.ForeignKey("fleet.Node", on_delete=models.CASCADE, related_name="cached_datasets")
    dataset = models.CharField(max_length=200)
    size_gb = models.FloatField()
    staged_at = models.DateTimeField()
    used_at = models.DateTimeField(help_text="The one unused for longest is evicted first.")

    class Meta:
        ordering = ["node_id", "dataset"]
        constraints = [models.UniqueConstraint(fields=["node", "dataset"], name="a_dataset_once_on_a_node")]

    def __str__(self) -> str:
        return f"{self.dataset} on {self.node}"
