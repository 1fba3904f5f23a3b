"""When simulated nodes are lost: a pure function of seed, node and day, the same in every process."""

import random
from functools import lru_cache

DAY_S = 86400.0


@lru_cache(maxsize=200_000)
def loss_on(seed: int, node: str, day: int, per_1000_days: float) -> float | None:
    """The second of the day at which the node is lost; None on most days.

    At most one loss a day: at published rates of 2.34 to 6.50 for 1000 node-days (arXiv 2410.21680) the
    chance of two is below 1 in 40,000.
    """
    rng = random.Random(f"{seed}:{node}:{day}")
    return rng.random() * DAY_S if rng.random() < per_1000_days / 1000.0 else None


def losses(seed: int, node: str, from_s: float, to_s: float, per_1000_days: float) -> list[float]:
    """Times of loss in [from_s, to_s), in seconds since the epoch."""
    found = []
    for day in range(int(from_s // DAY_S), int(to_s // DAY_S) + 1):
        second = loss_on(seed, node, day, per_1000_days)
        if second is not None and from_s <= day * DAY_S + second < to_s:
            found.append(day * DAY_S + second)
    return found
