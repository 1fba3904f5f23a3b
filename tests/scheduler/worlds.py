"""Small worlds that read as stories: tenants, runs and jobs on a clock that moves when told to.

    world = Story(nodes=8)                                   # 8 nodes × 8 GPUs = 64, blocks of 2, pods of 4
    vision, speech = world.tenant("vision", guarantee=32), world.tenant("speech", guarantee=32)
    loan = world.running(speech, gpus=48, tier="best_effort")
    wish = world.submit(vision, gpus=32, tier="production")
    world.advance(minutes=5)
    assert wish.is_running and loan.is_queued

The real planner decides and `cluster.scheduler.replay` moves time; every plan is checked by `violations`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from cluster.scheduler.explain import headline
from cluster.scheduler.fleet import Fleet, NodeView, members_of
from cluster.scheduler.holdings import Holdings
from cluster.scheduler.plan import Hold, Plan
from cluster.scheduler.planner import plan
from cluster.scheduler.policy import Policy
from cluster.scheduler.replay import Replay, Work
from cluster.scheduler.unblock import Hint, unblock
from cluster.scheduler.validity import violations
from cluster.scheduler.verdict import Verdict, binding
from cluster.scheduler.words import Constraint, Locality, Phase, Tier
from cluster.scheduler.world import JobView, ReservationView, RunView, Shape, TenantView, World

MODEL = "h100"
HOUR = 3600.0
MINUTE = 60.0
FOREVER = 1e9
"""A duration that no story outlives."""


def clock(seconds: float) -> str:
    """A moment in a sentence: minutes since the story began."""
    return f"minute {seconds / 60:g}"


def nodes_in_blocks(
    nodes: int, gpus: int = 8, *, block: int = 2, pod: int = 4, model: str = MODEL, prefix: str = "n"
) -> list[NodeView]:
    """So many equal nodes; `block` and `pod` are sizes in nodes."""
    return [
        NodeView(f"{prefix}{i}", model, gpus, f"{prefix}-block{i // block}", f"{prefix}-pod{i // pod}")
        for i in range(nodes)
    ]


@dataclass
class Gang:
    """A job of a story, with the questions that a test asks about it."""

    world: "Story"
    work: Work

    @property
    def id(self) -> int:
        return self.work.id

    @property
    def run(self) -> RunView | None:
        return next((r for r in self.world.replay.runs.values() if r.job_id == self.id), None)

    @property
    def is_running(self) -> bool:
        return self.run is not None

    @property
    def is_queued(self) -> bool:
        return self.run is None and self.work.end_s is None

    @property
    def is_done(self) -> bool:
        return self.work.end_s is not None

    @property
    def waited_s(self) -> float | None:
        """From submission to first start; None if it never started."""
        return None if self.work.start_s is None else self.work.start_s - self.work.submit_s

    @property
    def nodes(self) -> set[str]:
        return {self.world.fleet.nodes[i].name for i in self.run.placement} if self.run else set()

    @property
    def reservation(self) -> ReservationView | None:
        return self.world.replay.reservations.get(self.id)

    # why it waits, as of the last plan

    @property
    def hold(self) -> Hold:
        found = self.world.last.hold_of(self.view)
        assert found is not None, f"job {self.id} is not held"
        return found

    @property
    def view(self) -> JobView:
        return next(job for job in self.world.snapshot().pending if job.id == self.id)

    @property
    def binding(self) -> Verdict:
        found = binding(self.hold.verdicts)
        assert found is not None
        return found

    @property
    def why(self) -> Constraint:
        return self.binding.constraint

    @property
    def says(self) -> str:
        return headline(self.hold.verdicts, clock)

    @property
    def hints(self) -> list[Hint]:
        return unblock(self.world.snapshot(), self.view, self.hold.verdicts)


class Story:
    """A fleet with tenants and jobs. `tick` plans once without moving the clock; `advance` lets time pass."""

    def __init__(
        self,
        nodes: int | Sequence[NodeView] = 8,
        *,
        gpus: int = 8,
        block: int = 2,
        pod: int = 4,
        tick_s: float = 30.0,
        **policy: Any,
    ) -> None:
        views = nodes_in_blocks(nodes, gpus, block=block, pod=pod) if isinstance(nodes, int) else list(nodes)
        self.tick_s = tick_s
        self.last = Plan()
        self.evicted: list[int] = []
        """the jobs whose runs were sent away, in order"""
        self.set_aside: list[JobView] = []
        rules = Policy.from_settings(policy)
        self.replay = Replay(Fleet(views), {}, (), rules, tick_s=tick_s, planner=self._plan)
        self._ids = count(1)

    # what stands in it

    @property
    def fleet(self) -> Fleet:
        return self.replay.fleet

    @property
    def now_s(self) -> float:
        return self.replay.now_s

    def tenant(
        self,
        name: str,
        *,
        guarantee: int | None = 0,
        parent: str | None = None,
        weight: float = 1.0,
        lends: int | None = None,
        borrows: int | None = None,
        model: str = MODEL,
    ) -> str:
        """A tenant. `guarantee` of None: it states none of its own; `lends`, `borrows` of None: no limit."""
        stated = {} if guarantee is None else {model: guarantee}
        view = TenantView(name, parent, weight, stated, {model: lends}, {model: borrows})
        self.replay.tenants = {**self.replay.tenants, name: view}
        return name

    def drain(self, *names: str, why: str = "drained: cable check") -> None:
        """No new work on these nodes; what runs there goes on."""
        self._change_nodes(names, usable=False, why_not=why)

    def lose(self, *names: str) -> None:
        """These nodes fail: what runs there is halted whole and queued again at its age."""
        chosen = {i for i, node in enumerate(self.fleet.nodes) if node.name in names}
        for run in [r for r in self.replay.runs.values() if not chosen.isdisjoint(r.placement)]:
            self.replay.runs[run.id] = replace(run, phase=Phase.STOPPING, free_by_s=self.now_s)
            self.replay._end(run.id, self.now_s)
        self._change_nodes(names, usable=False, why_not="failed")

    def resume(self, *names: str) -> None:
        self._change_nodes(names, usable=True, why_not="")

    def _change_nodes(self, names: Iterable[str], **fields: Any) -> None:
        chosen = set(names)
        nodes = [replace(n, **fields) if n.name in chosen else n for n in self.fleet.nodes]
        self.replay.fleet = Fleet(nodes)
        self.replay.holdings = Holdings(self.replay.fleet, self.replay.runs.values())

    # jobs

    def submit(self, tenant: str, *, gpus: int = 8, age_s: float = 0.0, **asked: Any) -> Gang:
        """A pending job. `age_s`: how long it has waited already."""
        work = self._work(tenant, gpus, age_s, asked)
        self.replay.submit(work)
        return Gang(self, work)

    def running(
        self,
        tenant: str,
        *,
        gpus: int = 8,
        on: Sequence[str] = (),
        since_s: float = 0.0,
        saved_s: float | None = None,
        is_backfill: bool = False,
        **asked: Any,
    ) -> Gang:
        """A run that holds GPUs: on these nodes, or on the first that are free. It has run for `since_s`;
        what it did until `saved_s` ago is safe (None: all of it is)."""
        work = self._work(tenant, gpus, since_s, asked)
        work.start_s = self.now_s - since_s
        view = RunView(
            id=-work.id,
            job_id=work.id,
            shape=work.shape,
            placement=self._placement(work.shape, on),
            started_s=self.now_s - since_s,
            expected_end_s=self.now_s - since_s + work.expected_s,
            saved_s=self.now_s - (saved_s or 0.0),
            restart_cost_s=work.restart_cost_s,
            is_backfill=is_backfill,
            preemptions_left=work.preemption_budget,
            queued_s=work.submit_s,
        )
        self.replay.place_running(work, view, view.started_s + work.duration_s, entitled=True)
        return Gang(self, work)

    def hold(self, gang: Gang, reason: str) -> None:
        """Put a waiting job on hold: it is set aside."""
        self._set_aside(gang, admin_hold=reason)

    def delay(self, gang: Gang, until_s: float, why: str = "asked") -> None:
        """A waiting job that may not start before its time."""
        self._set_aside(gang, not_before_s=until_s, not_before_why=why)

    def change(self, gang: Gang, **fields: Any) -> None:
        """Change what the planner is told of a waiting job."""
        queue = self.replay.queues[gang.work.shape]
        self.replay.queues[gang.work.shape] = [replace(j, **fields) if j.id == gang.id else j for j in queue]

    def foresee(self, gang: Gang, ends_s: float) -> None:
        """Its run is now expected to end then; nothing else is known to have changed."""
        assert gang.run is not None
        self.replay.runs[gang.run.id] = replace(gang.run, expected_end_s=ends_s)

    def withdraw(self, gang: Gang) -> None:
        """A waiting job is taken back by its owner."""
        self._unqueue(gang)

    def _set_aside(self, gang: Gang, **fields: Any) -> None:
        self.set_aside.append(replace(gang.view, **fields))
        self._unqueue(gang)

    def _unqueue(self, gang: Gang) -> None:
        left = [j for j in self.replay.queues.pop(gang.work.shape) if j.id != gang.id]
        if left:
            self.replay.queues[gang.work.shape] = left
        self.replay.pending -= 1

    def _work(self, tenant: str, gpus: int, age_s: float, asked: Mapping[str, Any]) -> Work:
        asked = dict(asked)
        model = asked.pop("model", MODEL)
        tier = Tier(asked.pop("tier", Tier.RESEARCH))
        members = asked.pop("members", None) or members_of(
            gpus, self.fleet.node_size(model), asked.pop("nodes", None)
        )
        shape = Shape(
            tenant=tenant,
            tier=tier,
            model=model,
            members=members,
            required=Locality(asked.pop("within", Locality.CLUSTER)),
            preemptible=asked.pop("preemptible", tier is not Tier.PRODUCTION),
            out_s=asked.pop("grace_s", 60.0),
        )
        duration_s = asked.pop("lasts_s", HOUR)
        return Work(
            id=next(self._ids),
            shape=shape,
            submit_s=self.now_s - age_s,
            duration_s=duration_s,
            expected_s=asked.pop("expected_s", duration_s),
            **asked,
        )

    def _placement(self, shape: Shape, on: Sequence[str]) -> dict[int, int]:
        if not on:
            placement = self.replay.holdings.supply.place(shape.members, shape.model, shape.required)
            assert placement is not None, f"no room for {shape.gpus} GPUs"
            return placement
        sizes = [gpus for count_, gpus in shape.members for _ in range(count_)]
        index_of = {node.name: i for i, node in enumerate(self.fleet.nodes)}
        assert len(sizes) == len(on), f"{len(sizes)} members cannot stand on {len(on)} nodes"
        return {index_of[name]: gpus for name, gpus in zip(on, sizes, strict=True)}

    # time

    def tick(self) -> Plan:
        """One plan at this moment, carried out."""
        return self._step(self.now_s)

    def pass_tick(self) -> Plan:
        """One tick later, one plan."""
        return self._step(self.now_s + self.tick_s)

    def advance(self, *, minutes: float = 0.0, seconds: float = 0.0) -> Plan:
        """Let time pass in ticks; the first is now, the last at the end."""
        end_s = self.now_s + 60.0 * minutes + seconds
        self.tick()
        while self.now_s < end_s:
            self._step(min(end_s, self.now_s + self.tick_s))
        return self.last

    def until(self, gang: Gang, *, hours: float = 48.0) -> None:
        """Let time pass until the gang runs; fails after so many hours."""
        end_s = self.now_s + hours * HOUR
        while not gang.is_running:
            assert self.now_s < end_s, f"job {gang.id} still waits after {hours:g} hours: {gang.says}"
            self._step(self.now_s + self.tick_s)

    def _step(self, at_s: float) -> Plan:
        decided = self.replay.step(at_s)
        self.evicted += [self.replay.runs[eviction.run_id].job_id for eviction in decided.evictions]
        return decided

    def snapshot(self) -> World:
        return replace(self.replay.world(), set_aside=tuple(self.set_aside), holdings=None)

    def look(self) -> Plan:
        """Plan without carrying anything out."""
        return self._plan(self.snapshot(), True)

    def _plan(self, world: World, explain: bool) -> Plan:
        world = replace(world, set_aside=tuple(self.set_aside))
        self.last = plan(world, explain=True)
        assert violations(world, self.last) == []
        return self.last
