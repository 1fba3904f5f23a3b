"""When is a stored forecast still worth showing? Blank rather than wrong."""

from datetime import datetime

from cluster.models import Forecast, Job


def tells_a_start(forecast: Forecast | None, job: Job, now: datetime) -> bool:
    """False for a job that a person holds, and for a time that has passed while the job still waits."""
    if forecast is None or forecast.median_at is None or job.admin_hold:
        return False
    return forecast.median_at > now
