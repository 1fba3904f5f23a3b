"""The simulated engine: a virtual clock, staging, start-up, checkpoints; nodes fail at a stated rate.

Its state is a row for each gang with the moments that were decided from outside; all else is arithmetic
(timeline.py), so any number of processes see the same world and none has to keep it running.
"""

import random
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from django.db import transaction
from django.utils import timezone

from cluster.engines.contract import Activity, EndCause, EnginePhase, LaunchSpec, NodeReport, Observation
from cluster.engines.faults import losses
from cluster.engines.timeline import Timeline
from cluster.engines.workload import Workload
from cluster.models import SimulatedClock, SimulatedFault, SimulatedGang

STAGING_GB_PER_S = 4.0
"""Each node reads its copy of the dataset at this rate."""
START_S = (20.0, 90.0)
"""Start-up of a gang, drawn evenly."""
SCRAPE_S = 30.0
"""Activity is measured on this grid, as an exporter would."""


class SimulatedEngine:
    name = "simulated"

    # the clock

    def clock(self) -> SimulatedClock:
        moment = timezone.now()
        clock, _ = SimulatedClock.objects.get_or_create(
            name="clock", defaults={"virtual_epoch": moment, "wall_epoch": moment, "speed": 1.0}
        )
        return clock

    def now(self) -> datetime:
        return _reading(self.clock())

    def speed(self) -> float:
        return self.clock().speed

    # gangs

    def launch(self, spec: LaunchSpec) -> None:
        at, workload = self.now(), Workload.read(spec.workload)
        rng = random.Random(spec.launch_key)
        never = rng.random() < workload.never_ready
        start_s = rng.uniform(*START_S) if workload.start_s is None else workload.start_s
        start_s += spec.restart_cost_s if spec.resume_from_s else 0.0
        if spec.stage_on:
            start_s += max(0.0, spec.dataset_gb or 0.0) / STAGING_GB_PER_S
        total_s = spec.expected_duration_s if workload.work_s is None else workload.work_s
        SimulatedGang.objects.get_or_create(
            launch_key=spec.launch_key,
            defaults={
                "nodes": {node: len(gpus) for node, gpus in spec.members.items()},
                "spec": _kept(spec, workload),
                "launched_at": at,
                "ready_at": None if never else at + timedelta(seconds=start_s),
                "work_s": max(1.0, total_s - spec.resume_from_s),
            },
        )

    def request_checkpoint(self, launch_key: str) -> None:
        SimulatedGang.objects.filter(launch_key=launch_key, signalled_at=None).update(signalled_at=self.now())

    def stop(self, launch_key: str, *, grace_s: float) -> None:
        at = self.now()
        with transaction.atomic():
            # A key that was never launched is remembered as stopped, so that a late launch starts nothing.
            gang, is_new = SimulatedGang.objects.get_or_create(
                launch_key=launch_key,
                defaults={
                    "nodes": {},
                    "spec": {},
                    "launched_at": at,
                    "work_s": 0.0,
                    "signalled_at": at,
                    "stop_at": at,
                },
            )
            if not is_new and gang.stop_at is None:
                # A signal sent earlier is sent again: what has been done since must be saved, too.
                gang.signalled_at, gang.stop_at = at, at + timedelta(seconds=grace_s)
                gang.save(update_fields=["signalled_at", "stop_at"])

    def observe(self, launch_keys: Sequence[str]) -> list[Observation]:
        clock = self.clock()
        at = _reading(clock)
        gangs = {str(g.launch_key): g for g in SimulatedGang.objects.filter(launch_key__in=list(launch_keys))}
        injected = _injected()
        return [
            _observation(key, gangs[key], clock, injected, at)
            if key in gangs
            else Observation(key, EnginePhase.ABSENT)
            for key in map(str, launch_keys)
        ]

    # nodes

    def observe_nodes(self, names: Sequence[str]) -> list[NodeReport]:
        clock = self.clock()
        at = _reading(clock)
        injected = _injected()
        return [_node_report(name, clock, injected.get(name, ()), at) for name in names]


def _reading(clock: SimulatedClock) -> datetime:
    wall_s = (timezone.now() - clock.wall_epoch).total_seconds()
    return clock.virtual_epoch + timedelta(seconds=wall_s * clock.speed)


def _kept(spec: LaunchSpec, workload: Workload) -> dict[str, object]:
    return {
        "done_s": spec.resume_from_s,
        "interval_s": spec.checkpoint_interval_s or None,  # 0 = none
        "cost_s": spec.checkpoint_cost_s,
        "on_signal": spec.checkpoint_on_signal,
        "workload": workload.as_json(),
    }


Loss = tuple[float, float]
"""(lost, back) in seconds since the epoch"""


def _injected() -> dict[str, list[Loss]]:
    found: dict[str, list[Loss]] = {}
    for node, at, back_at in SimulatedFault.objects.values_list("node", "at", "back_at"):
        found.setdefault(node, []).append((at.timestamp(), back_at.timestamp()))
    return found


def _losses(
    node: str, clock: SimulatedClock, injected: Iterable[Loss], from_s: float, to_s: float
) -> list[Loss]:
    """The node's losses, by the stated rate and by hand, that lasted into [from_s, to_s]; oldest first."""
    drawn = losses(clock.seed, node, from_s - clock.repair_s, to_s, clock.node_failures_per_1000_days)
    own = [(at, at + clock.repair_s) for at in drawn]
    return sorted((at, back) for at, back in (*own, *injected) if at <= to_s and back > from_s)


def _node_report(name: str, clock: SimulatedClock, injected: Iterable[Loss], at: datetime) -> NodeReport:
    """`since` reaches back ten repairs at the most: what was longer ago is of no interest."""
    now_s = at.timestamp()
    recent = _losses(name, clock, injected, now_s - 10 * max(clock.repair_s, 1.0), now_s)
    down = [lost for lost, back in recent if now_s < back]
    if down:
        return NodeReport(name, False, at, _at(min(down)))
    last = max((back for _, back in recent), default=None)
    return NodeReport(name, True, at, _at(last) if last is not None else None)


def _at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _timeline(
    gang: SimulatedGang, clock: SimulatedClock, injected: dict[str, list[Loss]], now_s: float
) -> Timeline:
    spec, launched_s = gang.spec, gang.launched_at.timestamp()
    lost = [
        at for node in gang.nodes for at, _ in _losses(node, clock, injected.get(node, ()), launched_s, now_s)
    ]
    return Timeline(
        launched_s=launched_s,
        ready_s=gang.ready_at.timestamp() if gang.ready_at else None,
        work_s=gang.work_s,
        done_s=spec.get("done_s", 0.0),
        interval_s=spec.get("interval_s"),
        cost_s=spec.get("cost_s", 0.0),
        on_signal=spec.get("on_signal", True),
        fails_at_s=_workload(gang).fail_after_s,
        signalled_s=gang.signalled_at.timestamp() if gang.signalled_at else None,
        stop_s=gang.stop_at.timestamp() if gang.stop_at else None,
        lost_s=max(min(lost), launched_s) if lost else None,
    )


CAUSES = {
    "completed": EndCause.COMPLETED,
    "failed": EndCause.FAILED,
    "stopped": EndCause.STOPPED,
    "node_lost": EndCause.NODE_LOST,
}


def _observation(
    key: str, gang: SimulatedGang, clock: SimulatedClock, injected: dict[str, list[Loss]], at: datetime
) -> Observation:
    now_s = at.timestamp()
    line = _timeline(gang, clock, injected, now_s)
    end_s, cause = line.end()
    seen_s = min(now_s, end_s)
    ready = line.ready_s is not None and line.ready_s <= seen_s
    ended = end_s <= now_s
    return Observation(
        launch_key=key,
        phase=_phase(line, ready, ended),
        ready_at=_at(line.ready_s) if ready and line.ready_s is not None else None,
        ended_at=_at(end_s) if ended else None,
        cause=CAUSES[cause] if ended else None,
        exit_code={"completed": 0, "failed": 1}.get(cause) if ended else None,
        progress_s=line.progress_s(now_s),
        checkpoints=[(_at(t), kept) for t, kept in line.checkpoints(now_s)],
        activity=None if ended or not ready else _activity(gang, line, now_s),
        not_ready=() if ready else _stragglers(gang, line),
    )


def _phase(line: Timeline, ready: bool, ended: bool) -> EnginePhase:
    if ended:
        return EnginePhase.ENDED
    if line.signalled_s is not None:
        return EnginePhase.STOPPING
    return EnginePhase.RUNNING if ready else EnginePhase.STARTING


def _stragglers(gang: SimulatedGang, line: Timeline) -> Sequence[str]:
    """A gang that never becomes ready waits for one member; one that starts, for all."""
    names = sorted(gang.nodes)
    return (random.Random(str(gang.launch_key)).choice(names),) if line.ready_s is None and names else names


def _workload(gang: SimulatedGang) -> Workload:
    return Workload(**gang.spec.get("workload", {}))


def _activity(gang: SimulatedGang, line: Timeline, now_s: float) -> Activity | None:
    """Idle between `idle_from` and `idle_to` (shares of its work); nothing before it was first measured."""
    workload = _workload(gang)
    scraped_s = now_s // SCRAPE_S * SCRAPE_S
    if workload.silent or line.ready_s is None or scraped_s < line.ready_s:
        return None
    share = line.worked_s(scraped_s) / line.work_s if line.work_s else 1.0
    idle = workload.idle_from <= share < workload.idle_to
    gpus = sum(gang.nodes.values())
    return Activity(round(gpus * workload.idle_busy_share) if idle else gpus, _at(scraped_s))


# what a person or a script may do to the simulation


def pin_clock(at: datetime) -> None:
    """Stop the clock at a time; it moves only when pinned again."""
    SimulatedClock.objects.update_or_create(
        name="clock", defaults={"virtual_epoch": at, "wall_epoch": timezone.now(), "speed": 0.0}
    )


def start_clock(speed: float) -> None:
    """Let the clock go on from where it stands, so many times faster than the wall's."""
    at = SimulatedEngine().now()
    SimulatedClock.objects.update_or_create(
        name="clock", defaults={"virtual_epoch": at, "wall_epoch": timezone.now(), "speed": speed}
    )


def resume_clock() -> None:
    """After a pause of the whole installation, go on from the last tick instead of leaping over the pause."""
    from cluster.models import Tick

    clock = SimulatedClock.objects.filter(name="clock").first()
    last = Tick.objects.order_by("-number").values_list("now", flat=True).first()
    if clock is not None and last is not None and clock.speed != 0:
        clock.virtual_epoch, clock.wall_epoch = last, timezone.now()
        clock.save(update_fields=["virtual_epoch", "wall_epoch"])


def lose_node(node: str, *, repair_s: float) -> None:
    """Let a node be lost now, and come back after so many seconds of the engine's clock."""
    at = SimulatedEngine().now()
    SimulatedFault.objects.create(node=node, at=at, back_at=at + timedelta(seconds=repair_s))
