"""Run the planner through time: arrivals, completions and a virtual clock, nothing else.

The very planner of the control room, with the same worlds; only time and the engine's part (a gang starts
after `start_s`, runs for its true duration, leaves within its out time when evicted) are made up here.
"""

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from cluster.scheduler.fleet import Fleet
from cluster.scheduler.holdings import Holdings
from cluster.scheduler.plan import Eviction, Plan, Start
from cluster.scheduler.planner import plan
from cluster.scheduler.policy import Policy, Queueing
from cluster.scheduler.spread import slowdown_on
from cluster.scheduler.words import Phase, PreemptionRule
from cluster.scheduler.world import JobView, ReservationView, RunView, Shape, TenantView, World


@dataclass(slots=True)
class Work:
    """One job of a replay and what became of it. Seconds on the replay's clock."""

    id: int
    shape: Shape
    submit_s: float
    duration_s: float
    """True work to do."""
    expected_s: float
    """What the planner is told."""
    checkpoint_interval_s: float | None = 3600.0
    on_signal: bool = True
    restart_cost_s: float = 0.0
    preemption_budget: int = 3
    start_s: float | None = None
    """First start."""
    end_s: float | None = None
    done_s: float = 0.0
    preemptions: int = 0
    lost_s: float = 0.0
    ran_s: float = 0.0
    """Seconds it held its GPUs, all runs together."""


@dataclass(slots=True)
class Counts:
    """What happened, for the report."""

    ticks: int = 0
    starts: int = 0
    preemptions: dict[str, int] = field(default_factory=dict)
    loans: int = 0
    loan_gpu_s: float = 0.0
    lost_gpu_s: float = 0.0
    allocated_gpu_s: float = 0.0
    queue_peak: int = 0
    overhead_gpu_s: float = 0.0


@dataclass(slots=True)
class Live:
    """A run in progress."""

    work: Work
    view: RunView
    due: int
    """number of the event that ends it; an older event in the heap is void"""
    entitled: bool
    ends_s: float
    """when its work is done, if it is not stopped before"""
    slowdown: float = 1.0
    """how much longer its work takes because it is spread out"""


class Replay:
    """One replay. `step` handles everything that happens at one moment and then plans once."""

    def __init__(
        self,
        fleet: Fleet,
        tenants: Mapping[str, TenantView],
        work: Iterable[Work],
        policy: Policy,
        *,
        tick_s: float = 30.0,
        start_s: float = 0.0,
        planner: Callable[[World, bool], Plan] = plan,
    ) -> None:
        self.fleet, self.tenants, self.policy, self.planner = fleet, tenants, policy, planner
        self.tick_s, self.start_s = tick_s, start_s
        self.arrivals = deque(sorted(work, key=lambda w: (w.submit_s, w.id)))
        self.now_s = self.arrivals[0].submit_s if self.arrivals else 0.0
        self.first_s = self.now_s
        self.holdings = Holdings(fleet)
        self.queues: dict[Shape, list[JobView]] = {}
        self.works: dict[int, Work] = {}
        self.runs: dict[int, RunView] = {}
        self.live: dict[int, Live] = {}
        self.reservations: dict[int, ReservationView] = {}
        self.ends: list[tuple[float, int, int]] = []
        """(time, event number, run id)"""
        self.backfill: set[int] = set()
        """runs that backfill"""
        self.counts = Counts()
        self.pending = 0
        self._numbers = count(1)

    # time

    def __iter__(self) -> Iterator["Replay"]:
        """Go on until nothing more can happen; yields after each tick."""
        while (at := self._next_moment()) is not None:
            self.step(at)
            yield self

    def _next_moment(self) -> float | None:
        """The tick that follows the next event; what happens in between is handled with it."""
        times = [self.ends[0][0]] if self.ends else []
        if self.arrivals:
            times.append(self.arrivals[0].submit_s)
        if self.pending and self._is_waiting_for_time():
            times.append(self.now_s + self._patience_s())
        if not times:
            return None
        ticks = max(0.0, min(times) - self.first_s) / self.tick_s
        soonest = self.now_s + self.tick_s if self.counts.ticks else self.now_s
        return max(self.first_s + self.tick_s * -(-ticks // 1), soonest)

    def _is_waiting_for_time(self) -> bool:
        """May a blocked job do more later, although nothing else happens: gather, or send backfill away?"""
        return bool(self.ends) and self.policy.queueing is Queueing.LOCKSTEP

    def _patience_s(self) -> float:
        """How long nothing may happen before it is worth a look: backfill must be sent away in good time."""
        return self.tick_s if self.backfill and self.reservations else self.policy.reserve_after_s

    def step(self, at_s: float) -> Plan:
        """Bring the world to this moment and plan."""
        self.now_s = at_s
        while self.ends and self.ends[0][0] <= at_s:
            end_s, number, run_id = heapq.heappop(self.ends)
            if run_id in self.live and self.live[run_id].due == number:
                self._end(run_id, end_s)
        while self.arrivals and self.arrivals[0].submit_s <= at_s:
            self.submit(self.arrivals.popleft())
        decided = self.planner(self.world(), False)
        self._carry_out(decided)
        self.counts.ticks += 1
        self.counts.queue_peak = max(self.counts.queue_peak, self.pending)
        return decided

    def world(self) -> World:
        return World(
            self.now_s,
            self.fleet,
            self.tenants,
            self.queues,
            self.runs,
            (),
            self.reservations,
            self.policy,
            self.holdings,
        )

    # what happens

    def submit(self, work: Work) -> None:
        self.works[work.id] = work
        self._enqueue(work)

    def _enqueue(self, work: Work) -> None:
        """Into its queue, by age: a requeued job has kept its own."""
        left_s = max(1.0, work.expected_s - work.done_s) + (work.restart_cost_s if work.done_s else 0.0)
        job = JobView(work.id, work.shape, work.submit_s, left_s)
        queue = self.queues.setdefault(work.shape, [])
        place = len(queue)
        while place and (queue[place - 1].queued_s, queue[place - 1].id) > (job.queued_s, job.id):
            place -= 1
        queue.insert(place, job)
        self.pending += 1

    def place_running(self, work: Work, view: RunView, ends_s: float, entitled: bool) -> None:
        """Put a run that holds GPUs into the replay. `ends_s`: when its work is done, if it may go on."""
        self.works[work.id] = work
        self._hold(work, view, ends_s, entitled)

    def _slowdown(self, shape: Shape, placement: Mapping[int, int]) -> float:
        return slowdown_on(self.policy, shape.kind, self.fleet, placement)

    def _hold(self, work: Work, view: RunView, ends_s: float, entitled: bool) -> None:
        number = next(self._numbers)
        self.runs[view.id] = view
        self.holdings.add(view)
        slowdown = self._slowdown(view.shape, view.placement)
        self.live[view.id] = Live(work, view, number, entitled, ends_s, slowdown)
        if view.is_backfill:
            self.backfill.add(view.id)
        out_s = ends_s if view.free_by_s is None else max(view.free_by_s, self.now_s + 1.0)
        heapq.heappush(self.ends, (min(out_s, ends_s), number, view.id))

    def _end(self, run_id: int, end_s: float) -> None:
        live = self.live.pop(run_id)
        view = self.runs.pop(run_id)
        self.backfill.discard(run_id)
        self.holdings.remove(view)
        work, gpus = live.work, view.shape.gpus
        held_s = end_s - view.started_s
        work.ran_s += held_s
        self.counts.allocated_gpu_s += held_s * gpus
        if not live.entitled:
            self.counts.loan_gpu_s += held_s * gpus
        if view.phase is not Phase.STOPPING or live.ends_s <= end_s:
            work.end_s, work.done_s = end_s, work.duration_s
            return
        self._save(live, view, end_s)
        self._enqueue(work)

    def _save(self, live: Live, view: RunView, end_s: float) -> None:
        """What a preempted run keeps: all up to the signal if it saves then, else up to its checkpoint."""
        work = live.work
        overhead_s = self.start_s + (work.restart_cost_s if work.done_s else 0.0)
        until_s = (view.free_by_s or end_s) - view.shape.out_s
        worked_s = max(0.0, until_s - view.started_s - overhead_s) / live.slowdown
        worked_s = min(worked_s, work.duration_s - work.done_s)
        interval_s = work.checkpoint_interval_s
        kept_s = worked_s if work.on_signal else worked_s // interval_s * interval_s if interval_s else 0.0
        lost_s = worked_s - kept_s
        work.done_s += kept_s
        work.lost_s += lost_s
        work.preemptions += 1
        self.counts.lost_gpu_s += (lost_s + work.restart_cost_s) * view.shape.gpus

    # what was decided

    def _carry_out(self, decided: Plan) -> None:
        for start in decided.starts:
            self._start(start)
        if decided.starts:
            self._dequeue(decided.started_ids)
        for eviction in decided.evictions:
            self._evict(eviction)
        self.reservations = dict(decided.reservations)

    def _dequeue(self, started: frozenset[int]) -> None:
        shapes = {self.works[job_id].shape for job_id in started}
        for shape in shapes:
            left = [job for job in self.queues[shape] if job.id not in started]
            if left:
                self.queues[shape] = left
            else:
                del self.queues[shape]
        self.pending -= len(started)

    def _start(self, start: Start) -> None:
        work = self.works[start.job_id]
        overhead_s = self.start_s + (work.restart_cost_s if work.done_s else 0.0)
        slowdown = self._slowdown(work.shape, start.placement)
        view = RunView(
            id=next(self._numbers),
            job_id=work.id,
            shape=work.shape,
            placement=start.placement,
            started_s=self.now_s,
            expected_end_s=self.now_s + overhead_s + slowdown * max(1.0, work.expected_s - work.done_s),
            saved_s=self.now_s,
            restart_cost_s=work.restart_cost_s,
            is_backfill=start.is_backfill,
            preemptions_left=max(0, work.preemption_budget - work.preemptions),
            queued_s=work.submit_s,
            came_back=work.preemptions > 0,
        )
        work.start_s = self.now_s if work.start_s is None else work.start_s
        self.counts.starts += 1
        self.counts.loans += not start.entitled
        self.counts.overhead_gpu_s += overhead_s * work.shape.gpus
        ends_s = self.now_s + overhead_s + slowdown * max(0.0, work.duration_s - work.done_s)
        self._hold(work, view, ends_s, start.entitled)

    def _evict(self, eviction: Eviction) -> None:
        live = self.live[eviction.run_id]
        view = self.runs[eviction.run_id]
        out_s = self.now_s + view.shape.out_s
        rule = PreemptionRule(eviction.rule).value
        self.counts.preemptions[rule] = self.counts.preemptions.get(rule, 0) + 1
        stopping = replace(view, phase=Phase.STOPPING, free_by_s=out_s, stopping_for=eviction.for_job)
        self.runs[view.id] = stopping
        live.view, live.due = stopping, next(self._numbers)
        # One whose work is done within its grace window leaves then, and is not queued again.
        heapq.heappush(self.ends, (min(out_s, live.ends_s), live.due, view.id))
