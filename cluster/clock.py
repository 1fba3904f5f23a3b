"""The time that scheduling lives by: the engine's. Freshness of pages is measured on the wall clock."""

from datetime import datetime

from cluster.engines.registry import get_engine


def now() -> datetime:
    return get_engine().now()
