"""Every page opens for every role, says the same frame, and runs no script of its own making."""

import re
from html.parser import HTMLParser

import pytest
from django.contrib.auth import get_user_model

from tests.pages.conftest import ROLES

pytestmark = pytest.mark.django_db
PAGES = (
    *("/", "/queue/", "/queue/?tab=running", "/queue/?tab=over", "/queue/?tab=all"),
    *("/tenants/", "/tenants/vision/", "/tenants/lab/", "/nodes/", "/nodes/p1b1n1/"),
    *("/status/", "/tokens/", "/jobs/new/"),
    *("/jobs/{ours}/", "/jobs/{waits}/", "/jobs/{theirs}/", "/jobs/{their_wait}/"),
)


def pages_of(scene) -> list[str]:
    ids = {name: getattr(scene, name).pk for name in ("ours", "waits", "theirs", "their_wait")}
    return [page.format(**ids) for page in PAGES]


@pytest.mark.parametrize("role", ROLES)
def test_every_page_opens_for_every_role(scene, role):
    client = scene.client(role)
    answers = {page: client.get(page).status_code for page in pages_of(scene)}
    assert answers == dict.fromkeys(pages_of(scene), 200)


def test_somebody_without_a_role_is_told_whom_to_ask(scene, client):
    client.force_login(get_user_model().objects.create_user("newcomer"))
    for page in pages_of(scene):
        answer = client.get(page)
        assert answer.status_code == 403
        assert "ask its owner" in answer.content.decode()


def test_pages_of_an_empty_installation_say_what_comes_next(db, client):
    client.force_login(get_user_model().objects.create_superuser("first"))
    texts = {
        page: client.get(page).content.decode()
        for page in ("/", "/queue/", "/nodes/", "/tenants/", "/jobs/new/")
    }
    assert "The control loop has not run" in texts["/"]
    assert "Nothing waits." in texts["/queue/"]
    assert "import_cluster" in texts["/nodes/"]
    assert "import_cluster" in texts["/tenants/"]
    assert "You may not submit jobs" in texts["/jobs/new/"]


class _Markup(HTMLParser):
    """What a strict policy and a screen reader care about."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[str] = []
        self.count: dict[str, int] = {}
        self.ids: list[str] = []
        self.labelled: set[str] = set()
        self.fields: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.count[tag] = self.count.get(tag, 0) + 1
        if tag == "script" and "src" not in found:
            self.faults.append("inline script")
        if tag == "style" or "style" in found:
            self.faults.append(f"inline style on <{tag}>")
        self.faults += [f"{name} handler on <{tag}>" for name in found if name.startswith("on")]
        if found.get("id"):
            self.ids.append(str(found["id"]))
        if tag == "label" and found.get("for"):
            self.labelled.add(str(found["for"]))
        if tag in ("input", "select", "textarea") and found.get("type") not in ("hidden", "submit"):
            self.fields.append(found)
        if tag == "th" and "scope" not in found:
            self.faults.append("a table head without scope")


def test_no_page_carries_script_or_style_of_its_own(scene, owner):
    for page in [*pages_of(scene), "/login/"]:
        markup = _Markup()
        markup.feed(owner.get(page).content.decode())
        assert not markup.faults, page


def test_every_page_can_be_read_aloud(scene, owner):
    for page in pages_of(scene):
        text = owner.get(page).content.decode()
        markup = _Markup()
        markup.feed(text)
        assert markup.count["h1"] == 1, page
        assert markup.count["main"] == 1, page
        assert len(markup.ids) == len(set(markup.ids)), f"{page}: an id is there twice"
        assert 'class="skip"' in text
        assert re.search(r'<html lang="en-GB"', text)


def test_every_field_of_the_job_form_has_a_label(scene, owner):
    markup = _Markup()
    markup.feed(owner.get("/jobs/new/").content.decode())
    named = [field for field in markup.fields if field.get("name")]
    assert len(named) > 20
    assert {str(field["id"]) for field in named} <= markup.labelled


def test_a_page_that_is_not_there_and_one_that_is_refused_say_so_in_our_frame(scene, owner):
    missing = owner.get("/jobs/999999/")
    assert missing.status_code == 404
    assert "There is nothing at this address" in missing.content.decode()
    refused = scene.client("viewer").post("/nodes/p1b1n2/drain/", {"reason": "why not"})
    assert refused.status_code == 403
    assert "you may not change node" in refused.content.decode()
