"""The schema is free of warnings, true of what is answered, and can be browsed under our content policy."""

import io
import os
from collections.abc import Iterator

import pytest
import yaml
from django.core.management import call_command
from drf_spectacular.drainage import GENERATOR_STATS

CHROMIUM = "/usr/bin/chromium"
TELL_VIOLATIONS = (
    "document.addEventListener('securitypolicyviolation', event => console.error(event.violatedDirective))"
)


def test_the_schema_is_valid_and_without_a_warning(db):
    GENERATOR_STATS.reset()
    text = io.StringIO()
    call_command("spectacular", "--validate", "--fail-on-warn", stdout=text)
    schema = yaml.safe_load(text.getvalue())
    assert schema["info"]["title"] == "Lockstep API"
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            assert operation.get("summary"), (path, method)
            assert {"400", "401", "403", "404"} <= set(operation["responses"]), (path, method)


def test_every_part_is_introduced(db):
    schema = yaml.safe_load(_schema())
    operations = [operation for path in schema["paths"].values() for operation in path.values()]
    used = {tag for operation in operations for tag in operation["tags"]}
    assert used == {tag["name"] for tag in schema["tags"]}


def _schema() -> str:
    text = io.StringIO()
    call_command("spectacular", stdout=text)
    return text.getvalue()


def test_the_page_is_served_from_here_without_anything_inline(client_of, db):
    answer = client_of().get("/api/docs/")
    policy, text = answer["Content-Security-Policy"], answer.content.decode()
    script_rule = next(rule for rule in policy.split("; ") if rule.startswith("script-src"))
    assert script_rule == "script-src 'self'"
    assert "http://" not in text and "https://" not in text
    assert "<style" not in text and "<script>" not in text


@pytest.fixture
def page(live_server) -> Iterator[tuple[object, list[str]]]:
    """A tab of Chromium, and what its content policy, console and network complained of."""
    playwright = pytest.importorskip("playwright.sync_api")
    if not os.path.exists(CHROMIUM):
        pytest.skip(f"there is no Chromium at {CHROMIUM}")
    os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "1")  # playwright's loop runs in this thread
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        tab, complaints = browser.new_page(), []
        tab.add_init_script(TELL_VIOLATIONS)
        tab.on("console", lambda m: complaints.append(m.text) if m.type in ("error", "warning") else None)
        tab.on("requestfailed", lambda r: complaints.append(f"failed: {r.url}"))
        tab.on(
            "request",
            lambda r: complaints.append(f"elsewhere: {r.url}") if _is_foreign(r, live_server) else None,
        )
        yield tab, complaints
        browser.close()


def _is_foreign(request, live_server) -> bool:
    return not request.url.startswith((live_server.url, "data:", "blob:"))


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_the_page_renders_in_chromium_without_a_complaint(page, live_server):
    tab, complaints = page
    tab.goto(f"{live_server.url}/api/docs/")
    tab.wait_for_selector("h3.opblock-tag[data-tag=jobs]", timeout=30_000)
    tab.click("h3.opblock-tag[data-tag=jobs]")
    tab.wait_for_selector("#operations-jobs-jobs_explain")
    assert "Lockstep API" in tab.inner_text(".info .title")
    assert complaints == []
