"""The bench works, at a size that costs nothing, and leaves no trace. What it measures is not asserted."""

import gzip
import json
import os
import subprocess
import sys

import pytest
from django.core.management import CommandError, call_command

from cluster.bench.ticks import STEPS
from tests.traces.samples import sample


def bench(tmp_path, *arguments: str) -> tuple[dict, str]:
    """(JSON, table) of a run in a process of its own: it makes and destroys databases."""
    environment = {**os.environ, "LOCKSTEP_DATA": str(tmp_path), "LOCKSTEP_LOCAL": "1"}
    environment.pop("DJANGO_SETTINGS_MODULE", None)
    if "DATABASE_URL" not in environment:
        environment["DATABASE_URL"] = f"sqlite:///{tmp_path}/own.sqlite3"
    ran = subprocess.run(
        [sys.executable, "manage.py", "bench", *arguments], env=environment, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout), ran.stderr


def test_it_prints_ticks_step_by_step_and_the_page_and_touches_no_database_of_the_users(tmp_path):
    found, table = bench(tmp_path, "--only", "ticks,today", "--nodes", "50", "--queued", "60", "--ticks", "2")

    ticks = found["ticks"]
    assert (ticks["nodes"], ticks["gpus"], ticks["ticks"]) == (50, 400, 2)
    assert list(ticks["steps"]) == list(STEPS)
    assert all(0 <= step["median_ms"] <= step["max_ms"] for step in ticks["steps"].values())
    assert ticks["allocated_gpus"] > 0 and ticks["queued_gangs"] > 0 and ticks["peak_memory_mb"] > 0
    assert found["today"]["queries"] > 0 and found["replay"] is None
    assert "Tick, whole" in table and "Today's page, warm" in table
    assert not (tmp_path / "own.sqlite3").exists()


def test_without_the_sample_it_says_where_it_looked(tmp_path):
    found, table = bench(tmp_path, "--only", "replay", "--trace", str(tmp_path / "philly.csv.gz"))

    assert found["replay"] is None
    assert "the Philly sample is not at" in found["skipped"][0] and "--trace FILE" in table


def test_it_refuses_what_it_does_not_know():
    with pytest.raises(
        CommandError, match="--only: 'tickz' is unknown; allowed: ticks, today, replay, scale"
    ):
        call_command("bench", "--only", "tickz")
    with pytest.raises(CommandError, match="--nodes 0: give a number of at least 1"):
        call_command("bench", "--nodes", "0")
    with pytest.raises(CommandError, match="--sizes: '10by5' is no size; write NODESxGANGS"):
        call_command("bench", "--only", "scale", "--sizes", "10by5")


def test_planning_at_scale_is_measured_beside_the_best_that_is_possible(tmp_path):
    found, table = bench(tmp_path, "--only", "scale", "--sizes", "40x60", "--worlds", "2")

    (row,) = found["scale"]
    assert (row["nodes"], row["gangs"], row["worlds"], row["invalid"]) == (40, 60, 2, 0)
    assert 0 < row["greedy_gpus"] <= row["joint_gpus"] <= row["bound_gpus"] + 1e-6
    assert row["joint_gap"] <= row["greedy_gap"] < 1
    assert row["whole"]["median_s"] > 0 and "LP bound" in table and found["ticks"] is None


@pytest.mark.shared_data
def test_it_replays_a_trace(tmp_path):
    with gzip.open(sample("philly/philly_jobs.csv.gz"), "rt") as file:
        lines = file.readlines()[:200]
    (tmp_path / "cut.csv").write_text("".join(lines))
    found, _ = bench(tmp_path, "--only", "replay", "--trace", str(tmp_path / "cut.csv"))

    assert found["replay"]["jobs"] > 0 and found["replay"]["jobs_per_s"] > 0
