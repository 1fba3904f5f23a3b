"""The one engine this installation uses, by its name in the settings."""

from functools import cache
from importlib import import_module

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from cluster.engines.contract import Engine

ENGINES = {"simulated": "cluster.engines.simulated:SimulatedEngine"}


@cache
def engine_named(name: str) -> Engine:
    """Raises ImproperlyConfigured for a name that is not in ENGINES."""
    try:
        module, _, factory = ENGINES[name].partition(":")
    except KeyError:
        raise ImproperlyConfigured(
            f"LOCKSTEP_ENGINE is {name!r}; allowed: {', '.join(sorted(ENGINES))}"
        ) from None
    engine: Engine = getattr(import_module(module), factory)()
    return engine


def get_engine() -> Engine:
    return engine_named(getattr(settings, "LOCKSTEP_ENGINE", "simulated"))
