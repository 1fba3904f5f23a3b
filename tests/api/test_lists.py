"""What holds for every list: pages, one order, filters that are never passed over, CSV of all of it."""

import csv
import io

import pytest

from tests.api.conftest import rows

LISTS = (
    *("jobs", "runs", "allocations", "reservations", "decisions", "preemptions", "tenants", "entitlements"),
    *("loans/borrowers", "loans/lenders", "gpu-models", "nodes", "nodes/p1b1n1/evidence", "racks", "blocks"),
    *("pods", "capacity/placeable", "capacity/history", "ticks", "policy", "tokens"),
    *("jobs/1/decisions", "jobs/1/runs", "jobs/1/checkpoints"),
)


@pytest.fixture
def owner(busy, client_of):
    return client_of(busy.people["cluster_owner"])


def table(answer) -> list[dict[str, str]]:
    assert answer.status_code == 200, answer.content
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(io.StringIO(answer.getvalue().decode())))


def _addresses(busy) -> list[str]:
    return [name.replace("jobs/1/", f"jobs/{busy.running.pk}/") for name in LISTS]


def test_every_list_has_pages_and_the_same_as_csv(busy, owner):
    for name in _addresses(busy):
        page = owner.get(f"/api/v1/{name}/")
        assert page.status_code == 200, (name, page.content)
        assert set(page.json()) == {"count", "next", "previous", "results"}, name
        file = owner.get(f"/api/v1/{name}.csv")
        assert len(table(file)) >= min(page.json()["count"], 1), name
        assert "attachment" in file["Content-Disposition"], name


def test_csv_is_asked_for_in_three_ways(owner):
    answers = [
        owner.get("/api/v1/jobs.csv"),
        owner.get("/api/v1/jobs/?format=csv"),
        owner.get("/api/v1/jobs/", HTTP_ACCEPT="text/csv"),
    ]
    assert len({answer.getvalue() for answer in answers}) == 1


def test_every_list_refuses_what_it_does_not_understand(busy, owner):
    for name in _addresses(busy):
        for query, field in (("tenannt=x", "tenannt"), ("page=0", "page"), ("page_size=501", "page_size")):
            answer = owner.get(f"/api/v1/{name}/?{query}")
            assert answer.status_code == 400, (name, query)
            assert answer.json()["errors"][0]["field"] == field, (name, query)


def test_no_row_is_on_two_pages_however_equal_the_rows_are(two_tenants, client_of):
    for _ in range(7):
        two_tenants.tiny.submit(two_tenants.vision, gpus=8)
    client = client_of(two_tenants.people["viewer"])
    for order in ("gpus", "-gpus", "tenant", "-submitted_at", "ended_at", "-expected_start_median_at"):
        seen = [
            row["id"]
            for page in (1, 2, 3, 4)
            for row in rows(client.get(f"/api/v1/jobs/?ordering={order}&page_size=2&page={page}"))
        ]
        assert sorted(seen) == sorted(set(seen)) and len(seen) == 7, order


def test_unknown_comes_last_in_both_directions(busy, client_of):
    tiny = busy.scene.tiny
    tiny.advance(4000, every_s=1000)
    client = client_of(busy.people["cluster_owner"])
    for order in ("ended_at", "-ended_at"):
        ends = [row["ended_at"] for row in rows(client.get(f"/api/v1/jobs/?ordering={order}"))]
        assert None in ends and ends[0] is not None and ends[-1] is None, order


def test_an_order_by_several_names(busy, owner):
    found = rows(owner.get("/api/v1/nodes/?ordering=-gpus_held,name"))
    assert [(row["gpus_held"], row["name"]) for row in found] == sorted(
        ((row["gpus_held"], row["name"]) for row in found), key=lambda pair: (-pair[0], pair[1])
    )


def test_a_page_beyond_the_last_says_which_is_the_last(owner):
    answer = owner.get("/api/v1/jobs/?page=9")
    assert answer.status_code == 404
    assert answer.json()["detail"] == "there is no page 9: the last is 1"


def test_csv_holds_every_row_and_the_stamps_are_utc(busy, owner):
    for row in table(owner.get("/api/v1/jobs.csv?page_size=1&ordering=id")):
        assert row["submitted_at"].endswith("Z")
    assert len(table(owner.get("/api/v1/jobs.csv?page_size=1"))) == 3
    assert len(table(owner.get("/api/v1/allocations.csv"))) == 48


def test_csv_honours_filters_and_masks_names(busy, client_of):
    found = table(client_of(busy.people["viewer"]).get("/api/v1/jobs.csv?tenant=speech"))
    assert [(row["tenant"], row["gpus"], row["name"], row["owner"]) for row in found] == [
        ("speech", "16", "", "")
    ]


def test_csv_keeps_text_that_a_spreadsheet_would_run(two_tenants, client_of):
    two_tenants.tiny.submit(two_tenants.vision, name="=HYPERLINK(1)")
    found = table(client_of(two_tenants.people["cluster_owner"]).get("/api/v1/jobs.csv"))
    assert found[0]["name"] == "'=HYPERLINK(1)"


def test_units_stand_in_the_names_of_columns(owner):
    columns = set(next(csv.reader(io.StringIO(owner.get("/api/v1/jobs.csv").getvalue().decode()))))
    assert {"grace_s", "dataset_gb", "expected_duration_s", "checkpoint_cost_s"} <= columns
    columns = set(table(owner.get("/api/v1/usage.csv"))[0])
    assert {"gpu_seconds", "gpu_hours", "loan_gpu_hours", "cost_usd"} <= columns


def test_tenants_have_a_line_for_each_gpu_model_in_csv(owner):
    found = table(owner.get("/api/v1/tenants.csv"))
    assert {(row["name"], row["gpu_model"], row["entitled_gpus"]) for row in found} == {
        ("lab", "H100", "64"),
        ("vision", "H100", "32"),
        ("speech", "H100", "32"),
    }


def test_a_format_that_is_not_there_is_named(owner):
    answer = owner.get("/api/v1/jobs/?format=xml")
    assert (answer.status_code, answer.json()["errors"][0]["value"]) == (400, "xml")
    assert owner.get("/api/v1/loans.csv").status_code == 400
