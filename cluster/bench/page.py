"""Time of Today's page on the cluster that the ticks have left, as its owner sees it."""

import time
from dataclasses import dataclass

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from cluster.bench.ticks import Spread
from tenancy.models import User

VIEWS = 20


@dataclass(frozen=True, slots=True)
class PageTimes:
    cold_ms: float
    """the first view of a process: templates are compiled, past hours counted"""
    warm: Spread
    queries: int
    bytes: int


def measure_today() -> PageTimes:
    client = Client()
    client.force_login(
        User.objects.get(username="bench"), backend="django.contrib.auth.backends.ModelBackend"
    )
    cold_ms = _view(client)[0]
    warm = Spread.of(_view(client)[0] for _ in range(VIEWS))
    with CaptureQueriesContext(connection) as queries:
        size = _view(client)[1]
    return PageTimes(cold_ms, warm, len(queries), size)


def _view(client: Client) -> tuple[float, int]:
    """(milliseconds, bytes)"""
    began = time.perf_counter()
    response = client.get(reverse("today"))
    content = response.content
    ms = (time.perf_counter() - began) * 1000.0
    assert response.status_code == 200, f"Today answered {response.status_code}"
    return ms, len(content)
