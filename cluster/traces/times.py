"""Times of traces. Most carry no zone, and a clock that goes back makes one hour occur twice."""

from datetime import UTC, datetime, timedelta

_NAIVE_EPOCH = datetime(1970, 1, 1)
_AWARE_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def seconds_of(moment: datetime) -> float:
    """Seconds since 1970-01-01 00:00: of UTC when the moment has a zone, else of its own unnamed clock."""
    epoch = _NAIVE_EPOCH if moment.tzinfo is None else _AWARE_EPOCH
    return (moment - epoch).total_seconds()


def naive_moment(seconds: float) -> datetime:
    """The clock time, without a zone, that lies `seconds` after 1970-01-01 00:00 on the same clock."""
    return _NAIVE_EPOCH + timedelta(seconds=seconds)


def pacific_change_note(submits_s: list[float]) -> str | None:
    """What it would mean if zoneless times were US Pacific ones; None if no clock change falls into the span.

    The clock goes back at 02:00 daylight time on the first Sunday of November (United States, since 2007).
    """
    if not submits_s:
        return None
    first, last = min(submits_s), max(submits_s)
    for year in range(naive_moment(first).year, naive_moment(last).year + 1):
        november = datetime(year, 11, 1)
        sunday = november + timedelta(days=(6 - november.weekday()) % 7)
        twice = seconds_of(sunday + timedelta(hours=1))
        if first <= twice <= last:
            within = sum(1 for s in submits_s if twice <= s < twice + 3600)
            return (
                "If the times are US Pacific, as the trace's utilisation files suggest, the clock goes back "
                f"on {sunday:%Y-%m-%d} and the hour from 01:00 occurs twice: {within} jobs fall into it, and "
                "every later submission would lie an hour later than counted here. Times are used as written."
            )
    return None
