"""The demonstration on its own cluster with the generated workload."""

from datetime import datetime, timedelta

from django.utils import timezone

from cluster.demo.arrivals import add_arrivals, add_generated, generator, under_way
from cluster.demo.description import demo_description
from cluster.demo.generator import GeneratedJob
from cluster.demo.happenings import happenings
from cluster.demo.history import HOURS, live_through, set_up_clock
from cluster.imports.loader import cluster_from
from cluster.services.import_cluster import import_cluster

SIGN_INS = ("owner", "admin-vision", "release", "researcher", "viewer")
NOTES = [
    "Cluster, people and workload are generated; they are not a record of a real site. The workload is "
    "fitted to published figures of Philly, Helios and Acme; cluster/demo/calibration.py says which."
]


def seed_generated(seed: int) -> tuple[tuple[str, ...], list[str]]:
    """Gives the sign-ins and what has to be said about the demonstration."""
    end = timezone.now().replace(microsecond=0)
    start = end - HOURS
    set_up_clock(start, seed)
    described = cluster_from(demo_description(), "the demonstration's cluster").description
    import_cluster(described, now=start, source="demonstration (generated)")
    _fill_arrivals(start)
    live_through(start, end, happenings(end))
    return SIGN_INS, NOTES


def _fill_arrivals(start: datetime) -> None:
    """Jobs that are under way at the start come first; from there on every job arrives in its time."""
    day, drawn = start.date(), generator()
    earlier = drawn.day(day - timedelta(days=1)) + drawn.day(day)
    running = under_way(((job.submit_at, job.held_s, job.entry) for job in earlier), start)
    add_arrivals((number + 1, GeneratedJob(start, entry)) for number, entry in enumerate(running))
    add_generated(drawn, day, since=start)
    add_generated(drawn, day + timedelta(days=1))
