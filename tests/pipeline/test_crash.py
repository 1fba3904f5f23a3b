"""A worker dies between any two statements of a tick; another one goes on. On either database.

By default the fresh worker ticks twice after every crash, and after every sixteenth it goes on until each job
has reached its end. LOCKSTEP_CRASH=all goes on to the end after each of them.
"""

import os
from datetime import timedelta

import pytest
from django.utils import timezone

from cluster.engines.registry import get_engine
from cluster.models import TickLease
from cluster.pipeline.tick import run_tick
from tests.pipeline.audit import audit
from tests.pipeline.crash import Saboteur, tick_until_killed, undone
from tests.pipeline.scene import BusyScene

PARTS = 4
"""the sweep is shared out over so many tests, which may run side by side"""
TO_THE_END = 1 if os.environ.get("LOCKSTEP_CRASH") == "all" else 16


@pytest.fixture
def scene(tiny) -> BusyScene:
    return BusyScene(tiny)


def steps_of_one_tick(scene: BusyScene, monkeypatch) -> list[str]:
    saboteur = Saboteur()
    with undone(scene.tiny):
        tick_until_killed(saboteur, monkeypatch)
    return saboteur.steps


def the_lease_runs_out() -> None:
    TickLease.objects.update(expires_at=timezone.now() - timedelta(seconds=1))


def test_the_scene_has_everything_in_one_tick(scene, monkeypatch):
    steps = steps_of_one_tick(scene, monkeypatch)
    for call in ("observe", "launch", "request_checkpoint", "stop"):
        assert f"engine.{call} has returned" in steps
    for written in (
        "cluster_run",
        "cluster_allocation",
        "cluster_decision",
        "cluster_reservation",
        "cluster_preemption",
        "cluster_usageinterval",
        "cluster_tick",
        "fleet_node",
    ):
        changes = [s for s in steps if s.startswith(("INSERT", "UPDATE")) and f'"{written}"' in s]
        assert changes, f"nothing is written to {written}"
    with undone(scene.tiny):
        scene.tiny.tick()
        scene.assert_every_job_reaches_its_end()


@pytest.mark.parametrize("part", range(PARTS))
def test_a_crash_between_any_two_statements_is_made_good(scene, monkeypatch, part):
    steps = steps_of_one_tick(scene, monkeypatch)
    for number in range(part, len(steps) + 1, PARTS):
        saboteur = Saboteur(number)
        with undone(scene.tiny):
            tick_until_killed(saboteur, monkeypatch)
            assert saboteur.killed == (number < len(steps))
            where = steps[number] if saboteur.killed else "the end"
            try:
                take_over(scene, to_the_end=(number // PARTS) % TO_THE_END == part % TO_THE_END)
            except AssertionError as error:
                raise AssertionError(f"killed before step {number} ({where}): {error}") from error


def take_over(scene: BusyScene, to_the_end: bool) -> None:
    scene.tiny.move(30)
    the_lease_runs_out()
    assert run_tick(get_engine(), holder="fresh") is not None
    audit()
    scene.tiny.advance(60)
    scene.assert_no_job_is_charged_for_it()
    if to_the_end:
        scene.assert_every_job_reaches_its_end()


def test_while_the_lease_of_the_dead_one_lasts_nobody_ticks(scene, monkeypatch):
    steps = steps_of_one_tick(scene, monkeypatch)
    apply = next(n for n, step in enumerate(steps) if '"cluster_allocation"' in step and "INSERT" in step)
    tick_until_killed(Saboteur(apply), monkeypatch)

    assert run_tick(get_engine(), holder="fresh") is None
    the_lease_runs_out()
    assert run_tick(get_engine(), holder="fresh") is not None
