"""Names of tenants as our pages and addresses can carry them."""

import re
from collections.abc import Iterable

_OTHER = re.compile(r"[^a-z0-9._-]+")


def slugs(names: Iterable[str]) -> dict[str, str]:
    """Name → the same in lower case with '-' for what an address cannot carry; no two get the same."""
    found: dict[str, str] = {}
    for name in sorted(set(names)):
        slug = _OTHER.sub("-", name.lower()).strip("-._")[:60] or "tenant"
        tried, number = slug, 2
        while tried in found.values():
            tried, number = f"{slug}-{number}", number + 1
        found[name] = tried
    return found
