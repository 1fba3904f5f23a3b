"""Names of tenants and users as our pages and addresses can carry them."""

import re
from collections.abc import Iterable

_OTHER = re.compile(r"[^a-z0-9._-]+")
_NOT_IN_USER_NAMES = re.compile(r"[^\w.@+-]+")


def slugs(names: Iterable[str]) -> dict[str, str]:
    """Name → the same in lower case with '-' for what an address cannot carry; no two get the same."""
    return _distinct({name: _OTHER.sub("-", name.lower()).strip("-._")[:60] or "tenant" for name in names})


def user_names(names: Iterable[str]) -> dict[str, str]:
    """Name → the same as a user name, with '-' for what one cannot hold; no two get the same."""
    return _distinct({name: _NOT_IN_USER_NAMES.sub("-", name)[:140] or "user" for name in names})


def _distinct(wanted: dict[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(wanted):
        tried, number = wanted[name], 2
        while tried in taken:
            tried, number = f"{wanted[name]}-{number}", number + 1
        found[name] = tried
        taken.add(tried)
    return found
