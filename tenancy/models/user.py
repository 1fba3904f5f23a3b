from django.contrib.auth.models import AbstractUser
from django.db import models


class User(AbstractUser):
    """A person or a service that signs in. What they may do stands in Membership, not here."""

    time_zone = models.CharField(
        max_length=64, blank=True, default="UTC", help_text="IANA name; every stamp on a page carries it."
    )
