from django.db import models
from knox.models import AbstractAuthToken


class ApiToken(AbstractAuthToken):
    """A key to the REST API with all the rights of its user. Only a digest is kept; the key is shown once."""

    label = models.CharField(max_length=64, blank=True, help_text="What it is for, in the user's words.")

    class Meta:
        ordering = ["-created", "token_key"]

    def __str__(self) -> str:
        return f"{self.label or self.token_key} of {self.user}"
