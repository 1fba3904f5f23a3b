"""Tables stand still: the patching script in a real browser, without a server."""

import base64
import os
from pathlib import Path

import pytest
from django.conf import settings

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
SCRIPTS = settings.BASE_DIR / "static" / "lockstep" / "js"
STYLES = settings.BASE_DIR / "static" / "lockstep" / "css"
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not Path(CHROMIUM).exists(), reason=f"no Chromium at {CHROMIUM}: set CHROMIUM=…"),
]
HEAD = '<div class="table-note" hidden><span data-words></span><button>Show</button></div>'


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield found
        found.close()


def table(*rows: tuple[str, str]) -> str:
    lines = (f'<tr data-key="{key}"><td data-flash><a href="#">{text}</a></td></tr>' for key, text in rows)
    body = f"<table><tbody data-stable>{''.join(lines)}</tbody></table>"
    return f'<!doctype html><main><section data-rows data-partial="p">{HEAD}{body}</section></main>'


class Table:
    """A table on a page, and what the server says of it next."""

    def __init__(self, page, *rows):
        self.page = page
        page.set_content(table(*rows))
        for sheet in ("base.css", "tables.css"):
            page.add_style_tag(path=STYLES / sheet)
        page.add_style_tag(content="main { padding: 80px }")
        script = base64.b64encode((SCRIPTS / "morph.js").read_bytes()).decode()
        self.module = f"data:text/javascript;base64,{script}"

    def refresh(self, *rows) -> None:
        self.page.evaluate(
            """async ([module, html]) => {
                const { morph } = await import(module);
                const fresh = new DOMParser().parseFromString(html, "text/html");
                morph(document.querySelector("[data-partial]"), fresh.querySelector("[data-partial]"));
            }""",
            [self.module, table(*rows)],
        )

    @property
    def rows(self) -> list[str]:
        return self.page.locator("tbody tr").all_inner_texts()

    @property
    def note(self) -> str:
        note = self.page.locator(".table-note")
        return note.locator("[data-words]").inner_text() if note.is_visible() else ""


@pytest.fixture
def shown(browser):
    page = browser.new_page()
    yield Table(page, ("1", "one"), ("2", "two"), ("3", "three"))
    page.close()


def test_a_changed_cell_is_patched_where_it_stands_and_keeps_the_focus(shown):
    shown.page.focus('tr[data-key="2"] a')
    shown.refresh(("1", "one"), ("2", "TWO"), ("3", "three"))
    assert shown.rows == ["one", "TWO", "three"] and shown.note == ""
    assert shown.page.evaluate("document.activeElement.textContent") == "TWO"


def test_new_rows_wait_for_the_reader_and_rows_that_left_are_struck_out(shown):
    shown.page.hover('tr[data-key="1"]')
    before = shown.page.locator('tr[data-key="3"]').bounding_box()
    shown.refresh(("9", "nine"), ("1", "one"), ("3", "three"))
    assert shown.rows == ["one", "two", "three"]
    assert shown.page.locator('tr[data-key="3"]').bounding_box() == before
    assert shown.page.locator("tr.is-gone").all_inner_texts() == ["two"]
    assert shown.note == "1 new, 1 gone"
    shown.page.click(".table-note button")
    assert shown.rows == ["nine", "one", "three"] and shown.note == ""
    assert shown.page.locator("tr.is-new").all_inner_texts() == ["nine"]


def test_another_order_is_announced_not_applied(shown):
    shown.refresh(("3", "three"), ("2", "two"), ("1", "one"))
    assert shown.rows == ["one", "two", "three"] and shown.note == "order changed"


def test_a_row_that_comes_back_is_not_struck_out_any_more(shown):
    shown.page.hover('tr[data-key="1"]')
    shown.refresh(("1", "one"), ("3", "three"))
    assert shown.note == "1 gone"
    shown.refresh(("1", "one"), ("2", "two"), ("3", "three"))
    assert shown.page.locator("tr.is-gone").count() == 0 and shown.note == ""


def test_rows_that_left_go_quietly_when_nobody_points_at_the_table(shown):
    shown.page.mouse.move(600, 500)
    shown.refresh(("1", "one"), ("3", "three"))
    assert shown.rows == ["one", "three"] and shown.note == ""
