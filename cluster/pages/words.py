"""Numbers, money and times in words: the same on every page. Unknown is said, never shown as zero."""

from datetime import datetime
from decimal import Decimal

from django.utils import timezone

Number = int | float | Decimal
UNKNOWN = "unknown"


def count(value: Number | None) -> str:
    """6912 → `6,912`."""
    return UNKNOWN if value is None else f"{value:,.0f}"


def decimals(value: Number | None, places: int = 1) -> str:
    """1234.56 → `1,234.6`."""
    return UNKNOWN if value is None else f"{value:,.{places}f}"


def share(value: Number | None, places: int = 1) -> str:
    """0.8437 → `84.4 %`. What is not quite whole never rounds up to 100 %, nor a little down to 0 %."""
    if value is None:
        return UNKNOWN
    percent, step = 100 * float(value), 10.0**-places
    if 100 - step < percent < 100:
        percent = 100 - step
    elif 0 < percent < step:
        return f"< {step:.{places}f} %"
    return f"{percent:.{places}f} %"


def usd(value: Number | None) -> str:
    """1234.5 → `$1,235`; below a hundred with cents."""
    if value is None:
        return UNKNOWN
    return f"${value:,.0f}" if abs(value) >= 100 or value == 0 else f"${value:,.2f}"


def duration(seconds: Number | None) -> str:
    """95 → `1 min`, 8100 → `2 h 15 min`. time.js counts on in the same words."""
    if seconds is None:
        return UNKNOWN
    s = max(0, int(seconds))
    if s < 60:
        return f"{s} s"
    if s < 3600:
        return f"{s // 60} min"
    if s < 86400:
        hours, minutes = divmod(s // 60, 60)
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(s // 3600, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def hours(value: Number | None) -> str:
    """GPU-hours: `12,480 GPU-h`, with a decimal where it matters."""
    if value is None:
        return UNKNOWN
    return f"{value:,.0f} GPU-h" if abs(value) >= 100 or value == 0 else f"{value:,.1f} GPU-h"


def short_time(moment: datetime, now: datetime) -> str:
    """`14:02` on the day of `now`, else `3 Dec 14:02`, in the zone in force."""
    local, today = timezone.localtime(moment), timezone.localdate(now)
    day = "" if local.date() == today else f"{local.day} {local:%b} "
    return f"{day}{local:%H:%M}"


def full_time(moment: datetime) -> str:
    """`Thu 3 Dec 2026 14:02:09 Europe/Paris`."""
    local = timezone.localtime(moment)
    return f"{local:%a} {local.day} {local:%b %Y %H:%M:%S} {timezone.get_current_timezone_name()}"
