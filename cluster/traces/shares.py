"""Sharing whole GPUs out in proportion, so that the sum is exact."""

from collections.abc import Mapping


def shares(
    weights: Mapping[str, float], total: int, least: Mapping[str, int] | None = None
) -> dict[str, int]:
    """`total` shared out by weight (largest remainders first), nobody below its `least`.

    When the least shares do not fit into the total together they are dropped, and only the weights count.
    """
    floors = dict(least or {})
    if sum(floors.get(name, 0) for name in weights) > total:
        floors = {}
    fixed: dict[str, int] = {}
    while True:
        open_weights = {name: weight for name, weight in weights.items() if name not in fixed}
        found = _by_weight(open_weights, total - sum(fixed.values()))
        below = [name for name in found if found[name] < floors.get(name, 0)]
        if not below:
            return {name: fixed.get(name, found.get(name, 0)) for name in weights}
        fixed |= {name: floors[name] for name in below}


def _by_weight(weights: Mapping[str, float], total: int) -> dict[str, int]:
    whole = sum(weights.values())
    if not weights:
        return {}
    exact = {
        name: total * (weight / whole if whole else 1 / len(weights)) for name, weight in weights.items()
    }
    found = {name: int(share) for name, share in exact.items()}
    by_remainder = sorted(exact, key=lambda name: (found[name] - exact[name], name))
    for name in by_remainder[: total - sum(found.values())]:
        found[name] += 1
    return found
