"""What a page hears over its websocket, and what it must not hear."""

import json

import pytest
from channels.db import database_sync_to_async
from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.backends.db import SessionStore
from django.db import OperationalError

from cluster import consumers
from cluster.consumers import BAD_MESSAGE, SIGNED_OUT, TRY_AGAIN
from cluster.models import Event
from cluster.stream import source
from cluster.stream.tail import tail
from tenancy.models import Membership, Role
from tests.stream.conftest import Page, aappend, person, team

pytestmark = pytest.mark.django_db(transaction=True)


async def test_an_event_reaches_the_page_with_its_cursor_and_the_one_before(open_page):
    page = await open_page(await person("olga", Role.CLUSTER_OWNER))
    await page.subscribe("queue")
    first = await aappend(data={"pending": 3})
    assert await page.hears() == {
        "type": "event",
        "topic": "queue",
        "cursor": first,
        "previous": page.hello,
        "kind": "job_submitted",
        "data": {"pending": 3},
    }
    second = await aappend(kind="job_started")
    heard = await page.hears()
    assert (heard["cursor"], heard["previous"]) == (second, first)


async def test_two_pages_hear_only_what_they_asked_for(open_page):
    olga = await person("olga", Role.CLUSTER_OWNER)
    queue, nodes = await open_page(olga), await open_page(olga)
    await queue.subscribe("queue")
    await nodes.subscribe("nodes")
    await aappend(kind="node_drained", topics=["nodes"])
    assert (await nodes.hears())["kind"] == "node_drained"
    assert await queue.hears_nothing()


async def test_a_page_resumes_where_it_left_off(open_page):
    olga = await person("olga", Role.CLUSTER_OWNER)
    seen = await aappend()
    missed = [await aappend(kind=f"missed_{i}") for i in range(3)]
    page = await open_page(olga)
    await page.subscribe("queue", cursor=seen)
    heard = [await page.hears() for _ in missed]
    assert [(m["cursor"], m["previous"]) for m in heard] == list(
        zip(missed, [seen, *missed[:-1]], strict=True)
    )


async def test_a_page_that_missed_too_much_is_told_to_refetch(open_page, monkeypatch):
    monkeypatch.setattr(consumers, "MOST_REPLAYED", 2)
    seen = await aappend()
    for _ in range(3):
        await aappend()
    page = await open_page(await person("olga", Role.CLUSTER_OWNER))
    await page.subscribe("queue", cursor=seen)
    assert await page.hears() == {"type": "refetch", "topic": "queue", "cursor": page.hello}
    following = await aappend()
    assert (await page.hears())["cursor"] == following


async def test_a_cursor_of_another_database_is_answered_by_refetch(open_page):
    page = await open_page(await person("olga", Role.CLUSTER_OWNER))
    await page.subscribe("queue", cursor=10**9)
    assert (await page.hears())["type"] == "refetch"
    await aappend()
    assert (await page.hears())["type"] == "event"


async def test_a_page_rendered_after_the_last_read_does_not_hear_it_twice(open_page):
    page = await open_page(await person("olga", Role.CLUSTER_OWNER))
    rendered_at = await aappend()
    await page.subscribe("queue", cursor=rendered_at)
    following = await aappend()
    assert (await page.hears())["cursor"] == following


async def test_a_job_is_watched_only_by_those_who_may_see_it(open_page, make_job):
    vision, speech = await team("vision"), await team("speech")
    job = await database_sync_to_async(make_job)(vision)
    insider = await open_page(await person("vera", Role.RESEARCHER, vision))
    outsider = await open_page(await person("saul", Role.RESEARCHER, speech))
    for page in (insider, outsider):
        await page.subscribe(f"job:{job.pk}")
    assert await outsider.hears() == {"type": "denied", "topic": f"job:{job.pk}"}
    await aappend(topics=[f"job:{job.pk}"], tenant=vision, data={"name": "secret"})
    assert (await insider.hears())["data"] == {"name": "secret"}
    assert await outsider.hears_nothing()


async def test_a_job_that_is_not_there_is_denied_like_one_that_is_hidden(open_page):
    page = await open_page(await person("olga", Role.CLUSTER_OWNER))
    await page.subscribe("job:999", "job:x", "nonsense", "tenant:nobody")
    assert [(await page.hears())["type"] for _ in range(4)] == ["denied"] * 4


async def test_on_shared_topics_the_jobs_of_others_are_told_without_their_details(open_page):
    vision = await team("vision")
    page = await open_page(await person("vic", Role.VIEWER))
    await page.subscribe("queue")
    await aappend(tenant=vision, data={"name": "secret"})
    heard = await page.hears()
    assert heard["type"] == "event" and heard["data"] == {}


async def test_a_right_taken_away_counts_from_the_next_message(open_page, make_job):
    vision = await team("vision")
    job = await database_sync_to_async(make_job)(vision)
    vera = await person("vera", Role.RESEARCHER, vision)
    page = await open_page(vera)
    await page.subscribe(f"job:{job.pk}")
    await aappend(topics=[f"job:{job.pk}"], tenant=vision)
    assert (await page.hears())["type"] == "event"
    await database_sync_to_async(Membership.objects.filter(user=vera).update)(role=Role.VIEWER)
    await aappend(topics=[f"job:{job.pk}"], tenant=vision, data={"name": "secret"})
    assert await page.hears() == {"type": "denied", "topic": f"job:{job.pk}"}
    await aappend(topics=[f"job:{job.pk}"], tenant=vision)
    assert await page.hears_nothing()


async def test_somebody_who_is_not_signed_in_is_told_so():
    page = Page(AnonymousUser())
    await page.connect()
    assert await page.is_closed_with() == SIGNED_OUT


async def test_signing_out_ends_the_pages_that_are_still_open(open_page):
    session = SessionStore()
    await database_sync_to_async(session.create)()
    page = await open_page(await person("olga", Role.CLUSTER_OWNER), session=session)
    await page.subscribe("queue")
    await aappend()
    assert (await page.hears())["type"] == "event"
    await database_sync_to_async(session.delete)()
    await aappend()
    assert await page.is_closed_with() == SIGNED_OUT


@pytest.mark.parametrize(
    ("sent", "named"),
    [
        ("{", "not JSON"),
        ('{"type": "shout"}', "type"),
        ('{"type": "subscribe", "topics": "queue"}', "topics"),
        ('{"type": "subscribe", "topics": ["queue"], "cursor": "7"}', "cursor"),
        (json.dumps({"type": "subscribe", "topics": [f"job:{i}" for i in range(51)]}), "at most 50"),
    ],
)
async def test_a_message_outside_the_protocol_is_answered_with_what_is_wrong(open_page, sent, named):
    page = await open_page(await person("olga", Role.CLUSTER_OWNER))
    await page.says(sent)
    assert named in (await page.hears())["message"]
    assert await page.is_closed_with() == BAD_MESSAGE


async def test_the_tail_survives_a_database_that_is_away(open_page, monkeypatch):
    page = await open_page(await person("olga", Role.CLUSTER_OWNER))
    await page.subscribe("queue")
    await aappend()
    assert (await page.hears())["type"] == "event"
    real, failures = source.after, iter(range(2))

    def away_at_first(*args, **kwargs):
        if next(failures, None) is not None:
            raise OperationalError("server closed the connection")
        return real(*args, **kwargs)

    monkeypatch.setattr(source, "after", away_at_first)
    cursor = await aappend()
    assert (await page.hears())["cursor"] == cursor


async def test_a_page_that_cannot_subscribe_is_asked_to_try_again(open_page, monkeypatch):
    page = await open_page(await person("olga", Role.CLUSTER_OWNER))

    def away(*args, **kwargs):
        raise OperationalError("server closed the connection")

    monkeypatch.setattr("cluster.consumers.find_topics", away)
    await page.subscribe("queue")
    assert await page.is_closed_with() == TRY_AGAIN


async def test_a_slow_page_is_told_to_refetch_and_holds_nobody_up(open_page, monkeypatch):
    monkeypatch.setattr(consumers, "MOST_WAITING", 5)
    page = await open_page(await person("olga", Role.CLUSTER_OWNER))
    await page.subscribe("queue")
    await aappend()
    assert (await page.hears())["type"] == "event"
    await database_sync_to_async(Event.objects.bulk_create)(
        [Event(kind="burst", topics=["queue"], at="2026-01-01T00:00Z") for _ in range(40)]
    )
    kinds = {(await page.hears())["type"]}
    while not await page.hears_nothing():
        kinds.add((await page.hears())["type"])
    assert "refetch" in kinds


async def test_the_tail_runs_while_pages_are_open_and_not_longer(open_page):
    assert not tail.is_running
    await open_page(await person("olga", Role.CLUSTER_OWNER))
    assert tail.is_running
