"""A synthetic workload for a cluster of any size, the same for the same seed; `calibration` has its sources.

Every job is labelled as generated. Its true run time and its habits stand in `workload`, where only the
simulated engine reads them; the scheduler is told the user's estimate.
"""

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from typing import Any

from cluster.demo import calibration as fit
from cluster.demo.teams import TEAMS, Team

TIERS = ("production", "research", "best_effort")
FAILS_AT = (0.02, 0.95)
"""a job that crashes does so after this share of its work"""
SWEPT = fit.SIZES[:3]
"""sizes of which sweeps are made"""
LARGEST_SHARE = 0.5
"""A gang takes at most this share of a model's GPUs."""


@dataclass(frozen=True, slots=True)
class GeneratedJob:
    """When it is submitted, and the job in the form of a jobs file's entry."""

    submit_at: datetime
    entry: dict[str, Any]

    @property
    def work_s(self) -> float:
        return float(self.entry["workload"]["work_s"])

    @property
    def held_s(self) -> float:
        """Seconds it really holds its GPUs, were it to start at once: until it completes or crashes."""
        return min(self.work_s, float(self.entry["workload"].get("fail_after_s", math.inf)))


class Generator:
    """Draws whole days, each from its own seed, so that any day can be drawn without those before it."""

    def __init__(
        self,
        gpus: Mapping[str, int],
        *,
        seed: int,
        load: float | None = None,
        teams: Sequence[Team] = TEAMS,
        node_gpus: int = 8,
    ) -> None:
        """`gpus`: installed by model. `load`: submitted GPU time over installed; None = as calibrated."""
        self.gpus, self.seed, self.teams, self.node_gpus = dict(gpus), seed, teams, node_gpus
        self.load = fit.LOAD if load is None else load

    def day(self, day: date) -> list[GeneratedJob]:
        """The jobs submitted on one UTC day, in order."""
        rng = random.Random(f"{self.seed}:{day.isoformat()}")
        midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
        jobs: list[GeneratedJob] = []
        for at in self._moments(rng, midnight):
            jobs += self._submission(rng, at)
        return jobs

    def _moments(self, rng: random.Random, midnight: datetime) -> Iterator[datetime]:
        """A Poisson process whose rate follows the hour of the day (by thinning)."""
        most = self.jobs_per_hour * (1 + fit.SWING)
        hour = rng.expovariate(most)
        while hour < 24:
            swing = 1 + fit.SWING * math.cos(2 * math.pi * (hour - fit.PEAK_HOUR) / 24)
            if rng.random() < swing / (1 + fit.SWING):
                yield midnight + timedelta(seconds=round(hour * 3600))
            hour += rng.expovariate(most)

    @cached_property
    def jobs_per_hour(self) -> float:
        """Mean submissions an hour that make up the load. Worked out, not sampled: the tails are heavy."""
        one = {size: self._gpu_hours(size) for size in fit.SIZES}
        single = sum(size.share * hours for size, hours in one.items()) / sum(
            size.share for size in fit.SIZES
        )
        sweep = sum(one[size] for size in SWEPT) / len(SWEPT) * sum(fit.SWEEP_JOBS) / 2
        mean = (1 - fit.SWEEP_SHARE) * single + fit.SWEEP_SHARE * sweep
        return self.load * sum(self.gpus.values()) / mean

    def _gpu_hours(self, size: fit.SizeClass) -> float:
        """Mean GPU-hours that a job of this size really holds."""
        work_s = size.mean_s(fit.SHORTEST_S, fit.LONGEST_S)
        work_s *= 1 - fit.FAILING_SHARE * (1 - sum(FAILS_AT) / 2)
        debug = fit.DEBUG_SHARE if size.gpus > self.node_gpus else 0.0
        held_s = (1 - debug) * work_s + debug * sum(fit.DEBUG_S) / 2
        gpus = sum(self._gang(size.gpus, model) * n for model, n in self.gpus.items()) / sum(
            self.gpus.values()
        )
        return gpus * held_s / 3600

    def _submission(self, rng: random.Random, at: datetime) -> list[GeneratedJob]:
        """One job, or a sweep of equal ones with run times of their own."""
        team = rng.choices(self.teams, [team.share for team in self.teams])[0]
        if rng.random() < fit.SWEEP_SHARE:
            return self._sweep(rng, at, team)
        size = rng.choices(fit.SIZES, [size.share for size in fit.SIZES])[0]
        return [self._job(rng, at, team, size)]

    def _sweep(self, rng: random.Random, at: datetime, team: Team) -> list[GeneratedJob]:
        size = rng.choice(SWEPT)
        first = self._job(rng, at, team, size)
        jobs = [first]
        for number in range(1, rng.randint(*fit.SWEEP_JOBS)):
            work_s = _bounded(first.work_s * rng.lognormvariate(0, 0.25))
            entry = first.entry | {
                "name": f"{first.entry['name']}-{number:02d}",
                "workload": first.entry["workload"] | {"work_s": round(work_s)},
            }
            jobs.append(GeneratedJob(at, entry))
        return jobs

    def _job(self, rng: random.Random, at: datetime, team: Team, size: fit.SizeClass) -> GeneratedJob:
        model = rng.choices(list(self.gpus), list(self.gpus.values()))[0]
        gpus = self._gang(size.gpus, model)
        work_s = _bounded(rng.lognormvariate(math.log(size.median_s), size.sigma))
        workload = self._workload(rng, gpus, work_s)
        kind = _kind(rng, gpus, work_s)
        dataset, dataset_gb = rng.choice(team.datasets)
        project = rng.choice(team.projects)
        entry = {
            "name": f"{project}-{kind.replace('_', '-')}-{rng.randrange(10_000):04d}",
            "tenant": team.name,
            "owner": rng.choice(team.people),
            "tier": rng.choices(TIERS, team.tiers)[0],
            "kind": kind,
            "gpus": gpus,
            "gpu_model": model,
            "locality": self._locality(rng, gpus),
            "expected_duration_s": _estimate(rng, work_s),
            "checkpoint": _checkpoint(rng, kind, gpus),
            "restart_cost_s": 60 if gpus <= self.node_gpus else 120 + gpus,
            "dataset": dataset,
            "dataset_gb": dataset_gb if kind != "eval" else round(dataset_gb / 20, 1),
            "code_version": f"{project}@{rng.randrange(16**7):07x}",
            "workload": workload,
        }
        return GeneratedJob(at, entry)

    def _gang(self, gpus: int, model: str) -> int:
        """The size, cut to what the model's GPUs allow; above one node whole nodes."""
        most = max(1, int(self.gpus[model] * LARGEST_SHARE))
        if most >= self.node_gpus:
            most -= most % self.node_gpus
        return min(gpus, most)

    def _workload(self, rng: random.Random, gpus: int, work_s: float) -> dict[str, Any]:
        """The truth about the job, for the simulated engine alone."""
        workload: dict[str, Any] = {"generated": True, "work_s": round(work_s)}
        if gpus > self.node_gpus and rng.random() < fit.DEBUG_SHARE:
            workload["fail_after_s"] = round(rng.uniform(*fit.DEBUG_S))
        elif rng.random() < fit.FAILING_SHARE:
            workload["fail_after_s"] = round(work_s * rng.uniform(*FAILS_AT), 1)
        if rng.random() < fit.SILENT_SHARE:
            workload["silent"] = True
        elif rng.random() < fit.IDLE_SHARE:
            begin = rng.uniform(0.2, 0.8)
            workload |= {"idle_from": round(begin, 3), "idle_to": round(begin + rng.uniform(0.1, 0.4), 3)}
        return workload

    def _locality(self, rng: random.Random, gpus: int) -> dict[str, str]:
        """Within a node always; above it most gangs only prefer to stay close, some insist."""
        if gpus <= self.node_gpus:
            return {"required": "node", "preferred": "node"}
        draw = rng.random()
        if gpus <= self.node_gpus * 8 and draw < 0.15:
            return {"required": "block", "preferred": "block"}
        return {"required": "pod" if draw < 0.35 else "cluster", "preferred": "block"}


def _bounded(seconds: float) -> float:
    return min(max(seconds, fit.SHORTEST_S), fit.LONGEST_S)


def _kind(rng: random.Random, gpus: int, work_s: float) -> str:
    if gpus <= 8 and work_s < 1800 and rng.random() < 0.6:
        return "eval"
    return "fine_tuning" if gpus <= 32 and rng.random() < 0.4 else "training"


def _estimate(rng: random.Random, work_s: float) -> int:
    """What the user writes down: too much, most of the time, and a round number."""
    guess = work_s * rng.lognormvariate(math.log(fit.OVERESTIMATE_MEDIAN), fit.OVERESTIMATE_SIGMA)
    return next((round_s for round_s in fit.ESTIMATES_S if round_s >= guess), fit.ESTIMATES_S[-1])


def _checkpoint(rng: random.Random, kind: str, gpus: int) -> dict[str, Any]:
    """Evaluations start over; training saves, and most of it also on a signal."""
    if kind == "eval":
        return {"on_signal": False, "interval_s": None, "cost_s": 0, "grace_s": 30}
    cost_s = 20 + 10 * max(1, gpus // 16)
    return {
        "on_signal": rng.random() < 0.85,
        "interval_s": rng.choice((900, 1800, 1800, 3600)),
        "cost_s": cost_s,
        "grace_s": max(120, 2 * cost_s),
    }
