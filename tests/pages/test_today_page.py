"""Today: the number of the morning, the identity of the bar, money, and what a partial brings."""

import re

import pytest
from django.utils import timezone

from cluster.models import CapacityState, Tick
from cluster.selectors.capacity import capacity_now

pytestmark = pytest.mark.django_db


def words_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def test_the_headline_names_its_denominator(scene, owner):
    now = capacity_now()
    text = words_of(owner.get("/").content.decode())
    assert f"Busy {now.busy} of {now.installed} installed GPUs" in text
    assert f"of {now.eligible} that may take work" in text
    assert f"of {now.allocated} allocated to gangs" in text


def test_the_segments_of_the_bar_sum_to_the_installed_gpus(scene, owner):
    text = owner.get("/").content.decode()
    counts = {
        s: int(n) for s, n in re.findall(r'<span data-value="(\w+)">(\d+)</span> <span class="share"', text)
    }
    assert list(counts) == CapacityState.values
    assert sum(counts.values()) == capacity_now().installed == 64
    widths = [float(w) for w in re.findall(r'<rect class="seg" x="[\d.]+%" width="([\d.]+)%"', text)]
    assert sum(widths) == pytest.approx(100, abs=0.02)


def test_every_segment_leads_to_its_rows(scene, owner):
    text = owner.get("/").content.decode()
    for state in CapacityState.values:
        assert f'href="/nodes/?gpus={state}"' in text
        assert owner.get(f"/nodes/?gpus={state}").status_code == 200


def test_waste_is_priced_at_the_models_rate(scene, owner):
    now = capacity_now()
    assert now.wasted_usd_per_hour == 2 * now.wasted
    assert f"wasted now by {now.wasted} GPUs" in words_of(owner.get("/").content.decode())


def test_who_waits_who_borrows_and_what_broke_is_on_the_page(scene, owner):
    text = words_of(owner.get("/").content.decode())
    assert "our-big-wait" in text
    assert scene.lost in text and "no sign of life" in text
    assert "1 of 8 nodes" in text
    assert "Gangs that fit now" in text


def test_a_viewer_sees_numbers_but_no_names(scene):
    text = scene.client("viewer").get("/").content.decode()
    assert "our-big-wait" not in text and "their-wait" not in text
    assert f"job {scene.waits.pk}" in text


def test_a_member_sees_the_names_of_the_own_tenant_alone(scene):
    text = scene.client("researcher").get("/").content.decode()
    assert "our-big-wait" in text
    assert "their-wait" not in text


def test_a_partial_is_the_part_and_nothing_else(scene, owner):
    text = owner.get("/?partial=headline,fits").content.decode()
    assert text.count("data-partial=") == 2
    assert 'data-partial="headline"' in text and 'data-partial="fits"' in text
    assert "<html" not in text
    assert 'data-clock-now="' in text


def test_a_partial_that_does_not_exist_is_not_found(scene, owner):
    answer = owner.get("/?partial=headline,secrets")
    assert answer.status_code == 404


def test_a_silent_control_loop_is_said_and_the_number_is_not_kept_as_known(scene, owner):
    Tick.objects.update(wall_at=timezone.now() - timezone.timedelta(seconds=60))
    late = words_of(owner.get("/").content.decode())
    assert "The control loop has been silent for 1 min" in late
    Tick.objects.update(wall_at=timezone.now() - timezone.timedelta(seconds=600))
    lost = words_of(owner.get("/").content.decode())
    assert "Busy unknown" in lost and "last" in lost


def test_the_table_behind_the_plot_and_its_csv(scene, owner):
    table = owner.get("/?partial=twin").content.decode()
    assert table.count("<tr>") >= 2
    lines = owner.get("/capacity.csv?hours=1").content.decode().splitlines()
    assert lines[0] == "from," + ",".join(CapacityState.values)
    for line in lines[1:]:
        assert sum(float(value) for value in line.split(",")[1:]) == pytest.approx(64, abs=0.01)


def test_the_figure_names_its_colours_as_tokens(scene, owner):
    figure = owner.get("/figures/capacity/?hours=1").json()
    assert figure["data"] and all(trace["fillcolor"].startswith("--") for trace in figure["data"])
    assert figure["layout"]["xaxis"]["title"]["text"] == "UTC"


def test_the_number_of_queries_does_not_grow_with_the_cluster(scene, owner, django_assert_max_num_queries):
    with django_assert_max_num_queries(40):
        owner.get("/")
    for n in range(24):
        scene.tiny.submit(scene.two.speech, gpus=8, name=f"more-{n}", expected_duration_s=600 + n)
    scene.tiny.advance(600, every_s=120)
    with django_assert_max_num_queries(40):
        owner.get("/")
