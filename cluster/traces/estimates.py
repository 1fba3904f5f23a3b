"""What a user would have written as the expected run time. No public trace records it: an assumption."""

ROUND_S = (300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 43_200, 86_400)
DAY_S = 86_400
ESTIMATES_NOTE = (
    "Users' estimates are assumed: the true run time, rounded up to the next of 5, 10, 15, 30 minutes, 1, 2, "
    "4, 8, 12 hours or whole days."
)


def estimate_s(duration_s: float) -> int:
    """Seconds: the next round number that is not less than the run time."""
    fitting = next((round_s for round_s in ROUND_S if round_s >= duration_s), None)
    return fitting if fitting is not None else int(-(-duration_s // DAY_S) * DAY_S)
