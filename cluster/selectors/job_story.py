"""One job, whole: its runs, decisions, checkpoints, receipts and where its gang sits now."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

from django.db.models import Count, Max, QuerySet

from cluster import clock
from cluster.models import (
    Allocation,
    Checkpoint,
    Decision,
    Event,
    Forecast,
    Job,
    JobState,
    Outcome,
    Preemption,
    Reservation,
    Run,
    RunState,
    UsageInterval,
)
from cluster.models.job import Objective
from cluster.selectors import events
from cluster.selectors.expected_start import tells_a_start
from cluster.selectors.gathering import Gathering, gatherings
from cluster.selectors.queue import positions
from cluster.selectors.why import Why, of_decision, why
from fleet.models import Node


@dataclass(frozen=True)
class Seat:
    """A node on which the gang sits, with its GPU slots."""

    node: str
    rack: str
    block: str
    pod: str
    slots: tuple[int, ...]
    installed: int


@dataclass(frozen=True)
class Way:
    """One way to start a gang."""

    title: str
    taken: bool
    starts: datetime
    done: datetime
    gpu_hours: float
    level: str
    blocks: int
    slower_percent: float


@dataclass(frozen=True)
class Weighed:
    """Start now, or wait for a set that is closer together: both estimates, and which was taken."""

    made_at: datetime
    objective: str
    ways: tuple[Way, Way]

    @classmethod
    def of(cls, choice: dict[str, Any], made_at: datetime) -> "Weighed":
        waits = bool(choice["waits"])
        return cls(
            made_at,
            Objective(choice["objective"]).label,
            (
                _way("Start at once", choice["now"], not waits),
                _way("Wait for a closer set", choice["later"], waits),
            ),
        )


def _way(title: str, option: dict[str, Any], taken: bool) -> Way:
    return Way(
        title=title,
        taken=taken,
        starts=datetime.fromtimestamp(option["start_s"], UTC),
        done=datetime.fromtimestamp(option["done_s"], UTC),
        gpu_hours=option["gpu_hours"],
        level=option["level"],
        blocks=option["blocks"],
        slower_percent=100.0 * (option["slowdown"] - 1.0),
    )


class JobStory:
    """Reads each part when it is asked for."""

    def __init__(self, job: Job) -> None:
        self.job = job

    @cached_property
    def why(self) -> Why | None:
        return why(self.job) if self.job.state == JobState.PENDING else None

    def decision(self, pk: int) -> Why | None:
        """One decision of the past as it was made; None if it is not this job's, or was a start."""
        row = self.job.decisions.filter(pk=pk, outcome=Outcome.HOLD).first()
        return of_decision(row) if row else None

    @cached_property
    def weighed(self) -> "Weighed | None":
        """The last time that starting at once was weighed against waiting for a closer set."""
        row = (
            self.job.decisions.exclude(choice=None).select_related("tick").order_by("-made_at", "-id").first()
        )
        return Weighed.of(row.choice, row.made_at) if row else None

    @cached_property
    def forecast(self) -> Forecast | None:
        found = Forecast.objects.filter(job=self.job).first()
        return found if tells_a_start(found, self.job, clock.now()) else None

    @cached_property
    def place(self) -> int | None:
        """Its place among the waiting jobs, by tier and age."""
        return positions().get(self.job.pk) if self.job.state == JobState.PENDING else None

    @cached_property
    def decisions(self) -> list[Decision]:
        rows: QuerySet[Decision] = self.job.decisions.select_related("tick", "run")
        return list(rows.order_by("-made_at", "-id")[:40])

    @cached_property
    def runs(self) -> list[Run]:
        last = Max("checkpoints__progress_s")
        return list(self.job.runs.annotate(saves=Count("checkpoints"), saved_s=last).order_by("-number"))

    @cached_property
    def run(self) -> Run | None:
        """The open run, if there is one."""
        return next((run for run in self.runs if run.state != RunState.ENDED), None)

    @cached_property
    def checkpoints(self) -> list[Checkpoint]:
        rows = Checkpoint.objects.filter(run__job=self.job).select_related("run")
        return list(rows.order_by("-at", "-id")[:20])

    @cached_property
    def suffered(self) -> list[Preemption]:
        """Receipts of its own runs that were preempted."""
        rows = Preemption.objects.filter(victim__job=self.job).select_related("victim", "by_job__tenant")
        return list(rows.order_by("-signalled_at", "-id"))

    @cached_property
    def caused(self) -> list[Preemption]:
        """Receipts of the runs that gave way to it."""
        rows = Preemption.objects.filter(by_job=self.job).select_related("victim__job__tenant")
        return list(rows.order_by("-signalled_at", "-id")[:40])

    @cached_property
    def gathering(self) -> Gathering | None:
        return next((each for each in gatherings() if each.job.pk == self.job.pk), None)

    @cached_property
    def reservations(self) -> list[Reservation]:
        return list(self.job.reservations.order_by("-created_at", "-id")[:10])

    @cached_property
    def seats(self) -> list[Seat]:
        """Where the gang sits now, in the order of the map."""
        if self.run is None:
            return []
        rows = (
            Allocation.objects.filter(run=self.run, released_at__isnull=True)
            .order_by("node__block__pod__name", "node__block__name", "node__name", "gpu__index")
            .values_list(
                "node__name", "node__rack__name", "node__block__name", "node__block__pod__name", "gpu__index"
            )
        )
        slots: dict[tuple[str, str, str, str], list[int]] = {}
        for name, rack, block, pod, index in rows:
            slots.setdefault((name, rack, block, pod), []).append(index)
        sizes = _installed([key[0] for key in slots])
        return [Seat(*key, tuple(taken), sizes.get(key[0], len(taken))) for key, taken in slots.items()]

    @property
    def spread(self) -> tuple[int, int, int]:
        """(nodes, blocks, pods) that the gang sits on."""
        return len(self.seats), len({s.block for s in self.seats}), len({s.pod for s in self.seats})

    @cached_property
    def loan_gpus(self) -> int:
        """How many of its GPUs are on loan now."""
        rows = UsageInterval.objects.filter(job=self.job, ended_at__isnull=True)
        return sum(rows.values_list("loan_gpus", flat=True))

    @cached_property
    def events(self) -> list[Event]:
        return events.of_job(self.job.pk)

    @property
    def done_share(self) -> float:
        """The part of its expected work that is done, saved or not; 1 once completed."""
        if self.job.state == JobState.COMPLETED:
            return 1.0
        done = max(self.job.progress_s, (self.run.progress_s or 0.0) if self.run else 0.0)
        return min(1.0, done / self.job.expected_duration_s)

    @property
    def saved_share(self) -> float:
        return min(1.0, self.job.progress_s / self.job.expected_duration_s)

    @property
    def expected_end(self) -> datetime | None:
        """If it runs as long as its tenant expects; None while no run is ready."""
        return expected_end_of(self.job, self.run) if self.run else None


def expected_end_of(job: Job, run: Run) -> datetime | None:
    """The run's end if the work takes as long as the tenant expects; None while it is not ready."""
    if run.ready_at is None:
        return None
    return run.ready_at + timedelta(seconds=max(0.0, job.expected_duration_s - run.resumed_from_s))


def _installed(names: Sequence[str]) -> dict[str, int]:
    return dict(Node.objects.filter(name__in=names).annotate(n=Count("gpus")).values_list("name", "n"))
