"""The queue: filters, stable order, reasons with numbers, what others may not see, CSV."""

import csv
import io
import re

import pytest

pytestmark = pytest.mark.django_db


def jobs_in(html: str) -> list[int]:
    """The numbers of the jobs in the table, in its order."""
    rows = html[html.index("<tbody data-stable") :]
    return [int(key) for key in re.findall(r'<tr data-key="(\d+)"', rows)]


def test_waiting_jobs_come_oldest_first_with_their_reason_in_numbers(scene, owner):
    text = owner.get("/queue/").content.decode()
    assert jobs_in(text) == [scene.waits.pk, scene.their_wait.pk]
    assert re.search(r"need \d+ (GPUs|nodes) ", text)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", {"our-big-wait", "their-wait"}),
        ("tab=running", {"our-secret-run", "their-secret-run"}),
        ("tenant=vision", {"our-big-wait"}),
        ("tier=best_effort", {"their-wait"}),
        ("model=H100", {"our-big-wait", "their-wait"}),
        ("text=big", {"our-big-wait"}),
        ("text=researcher", {"our-big-wait"}),
        ("tab=all&state=active&tenant=speech", {"their-secret-run"}),
        ("text=nothing-like-it", set()),
    ],
)
def test_every_filter_narrows(scene, owner, query, names):
    text = owner.get(f"/queue/?{query}").content.decode()
    everyone = {"our-secret-run", "their-secret-run", "our-big-wait", "their-wait"}
    assert {name for name in everyone if f">{name}</a>" in text} == names
    assert ("No job matches this filter" in text) == (not names)


def test_a_job_is_found_by_its_number(scene, owner):
    assert jobs_in(owner.get(f"/queue/?text={scene.their_wait.pk}").content.decode()) == [scene.their_wait.pk]


def test_a_reason_filters_and_is_counted(scene, owner):
    text = owner.get("/queue/").content.decode()
    constraint = re.search(r'<a href="\?reason=(\w+)" data-key', text).group(1)
    narrowed = owner.get(f"/queue/?reason={constraint}").content.decode()
    assert jobs_in(narrowed)
    assert 'aria-current="true"' in narrowed


@pytest.mark.parametrize("query", ["tier=royal", "tab=attic", "sort=luck", "state=asleep", "reason=mood"])
def test_a_wrong_filter_names_what_is_allowed(scene, owner, query):
    answer = owner.get(f"/queue/?{query}")
    assert answer.status_code == 400
    name, value = query.split("=")
    assert f"{name}='{value}' is not known; allowed: " in answer.content.decode()


@pytest.mark.parametrize("sort", ["age", "gpus", "tenant", "tier", "start"])
def test_sorting_the_other_way_turns_the_order(scene, owner, sort):
    forward = jobs_in(owner.get(f"/queue/?sort={sort}").content.decode())
    backward = jobs_in(owner.get(f"/queue/?sort=-{sort}").content.decode())
    assert sorted(forward) == sorted(backward) == sorted([scene.waits.pk, scene.their_wait.pk])
    if sort != "start":
        assert forward == backward[::-1]


def test_names_cannot_be_guessed_through_the_filter(scene):
    viewer, researcher = scene.client("viewer"), scene.client("researcher")
    assert "No job matches" in viewer.get("/queue/?text=their-wait").content.decode()
    assert "No job matches" in researcher.get("/queue/?text=their-wait").content.decode()
    assert jobs_in(viewer.get("/queue/?text=speech").content.decode()) == [scene.their_wait.pk]


def test_the_table_is_cut_into_pages(scene, owner):
    for n in range(60):
        scene.tiny.submit(scene.two.speech, gpus=1, name=f"small-{n}", tier="best_effort")
    first = owner.get("/queue/").content.decode()
    second = owner.get("/queue/?page=2").content.decode()
    assert len(jobs_in(first)) == 50 and len(jobs_in(second)) == 12
    assert not set(jobs_in(first)) & set(jobs_in(second))
    assert 'href="?page=2"' in first


def rows_of(answer) -> list[dict[str, str]]:
    assert answer["Content-Type"].startswith("text/csv")
    return list(csv.DictReader(io.StringIO(answer.content.decode())))


def test_the_csv_has_the_rows_of_the_filter(scene, owner):
    rows = rows_of(owner.get("/queue/?tenant=vision&format=csv"))
    assert [row["job"] for row in rows] == [str(scene.waits.pk)]
    assert rows[0]["name"] == "our-big-wait" and rows[0]["reason"]
    assert rows[0]["queued_at"].endswith("+00:00")


def test_the_csv_keeps_names_from_those_who_may_not_see_them(scene):
    rows = {row["job"]: row for row in rows_of(scene.client("researcher").get("/queue/?format=csv"))}
    assert rows[str(scene.waits.pk)]["name"] == "our-big-wait"
    assert rows[str(scene.their_wait.pk)]["name"] == rows[str(scene.their_wait.pk)]["owner"] == ""


def test_a_name_that_a_spreadsheet_would_run_stays_text(scene, owner):
    scene.tiny.submit(scene.two.vision, gpus=1, name="=HYPERLINK(1)")
    assert "'=HYPERLINK(1)" in {row["name"] for row in rows_of(owner.get("/queue/?format=csv"))}


def test_a_name_is_never_markup(scene, owner):
    scene.tiny.submit(scene.two.vision, gpus=1, name="<script>alert(1)</script>")
    for page in ("/queue/", "/", "/queue/?tab=all"):
        assert "<script>alert" not in owner.get(page).content.decode()


def test_the_queries_of_a_full_page_are_bounded(scene, owner, django_assert_max_num_queries):
    for n in range(45):
        scene.tiny.submit(scene.two.speech, gpus=1, name=f"small-{n}", tier="best_effort")
    scene.tiny.advance(60)
    with django_assert_max_num_queries(30):
        owner.get("/queue/?tab=all")


def test_the_timeline_has_a_lane_for_each_gang_and_a_table(scene, owner):
    figure = owner.get("/figures/timeline/").json()
    lanes = figure["layout"]["yaxis"]["ticktext"]
    assert any("their-secret-run" in lane for lane in lanes)
    assert {"running", "waiting"} <= {trace["name"] for trace in figure["data"]}
    assert "their-secret-run" in owner.get("/queue/?partial=timeline").content.decode()
    hidden = scene.client("viewer").get("/figures/timeline/").content.decode()
    assert "secret" not in hidden
