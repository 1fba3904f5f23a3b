"""The rack map agrees with the books; tenants are told whole; both give their table as CSV."""

import csv
import io
import re

import pytest

from cluster import clock
from cluster.selectors.capacity import capacity_now
from cluster.selectors.loans import loans_now
from cluster.selectors.rack_map import cells, totals
from cluster.selectors.standing import share_out, standings

pytestmark = pytest.mark.django_db


def test_the_map_counts_every_gpu_as_the_books_do(scene):
    scene.tiny.advance(60)
    assert totals(cells(clock.now())) == {state.value: n for state, n in capacity_now().gpus.items()}


def test_each_cell_says_its_states_and_sums_to_its_gpus(scene, owner):
    found = {cell.name: cell for cell in cells(clock.now())}
    assert all(cell.total == 8 for cell in found.values())
    assert found[scene.lost].glyph == "R"
    text = owner.get("/nodes/").content.decode()
    for cell in found.values():
        assert f'href="/nodes/{cell.name}/" aria-label="{cell.words}"' in text


def test_the_nodes_are_filtered_and_the_others_dimmed(scene, owner):
    text = owner.get("/nodes/?state=repair").content.decode()
    assert text.count("is-dim") == 7
    assert "1 of 8 nodes" in text
    assert owner.get("/nodes/?gpus=molten").status_code == 400
    assert "No node matches" in owner.get("/nodes/?text=zebra").content.decode()


def test_the_csv_of_the_nodes(scene, owner):
    rows = list(csv.DictReader(io.StringIO(owner.get("/nodes/?format=csv").content.decode())))
    assert len(rows) == 8
    assert sum(int(row["busy"]) for row in rows) == capacity_now().busy


def test_a_node_tells_what_holds_each_slot_and_what_was_seen(scene, owner):
    lost = owner.get(f"/nodes/{scene.lost}/").content.decode()
    assert "node lost" in lost.lower() and "no sign of life" in lost
    busy = next(cell for cell in cells(clock.now()) if scene.theirs.pk in cell.jobs)
    assert "their-secret-run" in owner.get(f"/nodes/{busy.name}/").content.decode()
    assert "their-secret-run" not in scene.client("viewer").get(f"/nodes/{busy.name}/").content.decode()


def test_standings_add_up_over_the_tree(scene):
    found = {s.tenant.name: s.lines["H100"] for s in standings()}
    lab, vision, speech = found["lab"], found["vision"], found["speech"]
    assert lab.used == vision.used + speech.used == capacity_now().allocated
    assert lab.entitled == 64 and (vision.entitled, speech.entitled) == (32, 32)
    assert speech.borrowed == vision.lent and speech.used - speech.borrowed <= 32
    assert vision.waiting_jobs >= 1


def test_loans_name_borrower_and_lender(scene):
    found = loans_now(standings())
    assert found.gpus == sum(lender.lent for lender in found.lenders) + found.from_nobody


@pytest.mark.parametrize(
    ("whole", "weights", "parts"),
    [(10, [1, 1, 1], [4, 3, 3]), (0, [5, 5], [0, 0]), (7, [0, 0], [0, 0]), (5, [0, 3, 2], [0, 3, 2])],
)
def test_a_pool_is_shared_out_in_whole_gpus(whole, weights, parts):
    assert share_out(whole, weights) == parts


def test_the_tenants_page_and_its_csv(scene, owner):
    text = owner.get("/tenants/").content.decode()
    assert re.search(r"vision</a>", text) and "Guaranteed" in text
    rows = {
        row["tenant"]: row
        for row in csv.DictReader(io.StringIO(owner.get("/tenants/?format=csv").content.decode()))
    }
    assert rows["vision"]["organisation"] == "lab" and rows["vision"]["entitled"] == "32"
    assert rows["lab"]["lending_limit"] == ""  # no limit is not 0


def test_a_tenants_jobs_have_names_for_its_people_alone(scene):
    assert "our-secret-run" in scene.client("researcher").get("/tenants/vision/").content.decode()
    text = scene.client("researcher").get("/tenants/speech/").content.decode()
    assert "their-secret-run" not in text and f"job {scene.theirs.pk}" in text
    assert "People</h2>" not in text


def test_a_tenants_bill_counts_its_gpu_hours(scene, owner):
    scene.tiny.advance(3600, every_s=600)
    text = owner.get("/tenants/speech/?partial=bill").content.decode()
    assert "GPU-hours and cost" in text and "$" in text
