"""GPU-time and cost of any window sum to installed × window, to the microsecond."""

import csv
import io
from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cluster.models import UsageInterval
from cluster.selectors.usage_report import usage_report
from tests.factories import T0


@pytest.fixture
def client(busy, client_of):
    return client_of(busy.people["viewer"])


def test_the_identity_holds_and_its_figures_are_in_the_answer(client):
    answer = client.get("/api/v1/usage/").json()
    identity = answer["identity"]
    assert identity["holds"] is True and identity["difference_gpu_seconds"] == "0.000000"
    assert identity["installed_gpus"] == 64
    assert identity["window_h"] == pytest.approx(22 / 60)  # the first tick was 22 minutes ago
    assert Decimal(identity["installed_x_window_gpu_seconds"]) == 64 * 22 * 60
    assert sum(Decimal(row["gpu_seconds"]) for row in answer["rows"]) == 64 * 22 * 60
    assert [level["gpus"] for level in identity["levels"]] == [64]


def test_cost_is_gpu_hours_at_the_price_of_the_model(client):
    answer = client.get("/api/v1/usage/?by=tenant").json()
    for row in [*answer["rows"], answer["total"]]:
        assert float(row["cost_usd"]) == pytest.approx(2 * row["gpu_hours"], abs=1e-6)
    assert {row["tenant"] for row in answer["rows"]} == {None, "vision", "speech"}
    assert all(row["state"] is None and row["gpu_model"] is None for row in answer["rows"])


def test_however_it_is_split_the_sum_is_the_same(client):
    for by in ("tenant", "state", "gpu_model", "tenant,state", "state,gpu_model"):
        answer = client.get(f"/api/v1/usage/?by={by}").json()
        total = sum(Decimal(row["gpu_seconds"]) for row in answer["rows"])
        assert total == Decimal(answer["total"]["gpu_seconds"]) == 64 * 22 * 60, by


def test_a_window_begins_no_earlier_than_the_records(client):
    answer = client.get("/api/v1/usage/?from=2026-03-01T00:00:00Z&to=2026-03-02T08:10:00Z").json()
    assert (answer["start"], answer["end"]) == ("2026-03-02T08:00:00Z", "2026-03-02T08:10:00Z")
    assert answer["identity"]["holds"] is True


def test_a_window_does_not_reach_into_the_future(client):
    assert client.get("/api/v1/usage/?to=2030-01-01T00:00:00Z").json()["end"] == "2026-03-02T08:22:00Z"


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("from=2026-03-02T08:10:00Z&to=2026-03-02T08:10:00Z", "from"),
        ("from=monday", "from"),
        ("to=monday", "to"),
        ("by=colour", "by"),
        ("since=monday", "since"),
    ],
)
def test_a_window_that_is_none_is_refused(two_tenants, client_of, query, field):
    answer = client_of(two_tenants.people["viewer"]).get(f"/api/v1/usage/?{query}")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, field)


def test_csv_has_the_same_rows(client):
    text = client.get("/api/v1/usage.csv?by=tenant,state").getvalue().decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert sum(Decimal(row["gpu_seconds"]) for row in rows) == 64 * 22 * 60


def test_a_gpu_lost_from_the_books_would_be_seen(busy, client):
    """The check is no tautology: the installed GPUs are counted elsewhere."""
    row = UsageInterval.objects.filter(ended_at=None, gpus__gt=1).first()
    UsageInterval.objects.filter(pk=row.pk).update(gpus=row.gpus - 1, loan_gpus=0)
    identity = client.get("/api/v1/usage/").json()["identity"]
    assert identity["holds"] is not True
    assert Decimal(identity["difference_gpu_seconds"]) < 0


@given(data=st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_window_is_whole(busy, data):
    microseconds = st.integers(0, 22 * 60 * 1_000_000)
    a, b = sorted((data.draw(microseconds), data.draw(microseconds)))
    report = usage_report(T0 + _us(a), T0 + _us(b))
    assert report.sum_gpu_us == 64 * (b - a)
    assert [level.gpus for level in report.levels] == ([64] if b > a else [])


def _us(count: int):
    return timedelta(microseconds=count)
