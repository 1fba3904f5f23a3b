"""The policy in force."""

from dataclasses import asdict
from typing import Any

from cluster.scheduler.policy import Policy
from tenancy.models import PolicyVersion


def current_policy() -> Policy:
    """The newest version; the usual settings where none was published."""
    version = PolicyVersion.objects.order_by("-number").first()
    return Policy.from_settings(version.settings) if version else Policy()


def in_force() -> dict[str, Any]:
    """Number, time and every setting of the newest version; the usual settings where none was published."""
    version = PolicyVersion.objects.order_by("-number").first()
    settings = Policy.from_settings(version.settings) if version else Policy()
    return {
        "number": version.number if version else None,
        "published_at": version.published_at if version else None,
        "settings": asdict(settings),
    }
