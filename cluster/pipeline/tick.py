"""One tick of the control loop: lease, reconcile, observe, plan, apply and account, carry out.

No transaction is open while the plan is made or the engine is asked. A crash between any two steps leaves
rows from which the next tick goes on; nothing is launched that is not committed, and nothing is freed that
the engine has not reported ended.
"""

import logging
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TypeVar

from django.db import transaction
from django.utils import timezone

from cluster.engines.contract import Engine, EngineUnreachable
from cluster.models import Run, RunState, Tick
from cluster.pipeline import lease
from cluster.pipeline.apply import apply
from cluster.pipeline.capacity import record_usage
from cluster.pipeline.carry_out import carry_out
from cluster.pipeline.observe import Observed, after, observe
from cluster.pipeline.reconcile import reconcile
from cluster.scheduler.capacity import State
from cluster.scheduler.joint import Joint, plan_jointly
from cluster.services.append_event import append_events, new_event
from fleet.models import Node
from fleet.services.take_in_node_reports import take_in_node_reports

FAILURES = ("failed", "infeasible")
log = logging.getLogger(__name__)
T = TypeVar("T")


class Stopwatch:
    """How long each step took, in milliseconds."""

    def __init__(self) -> None:
        self.laps_ms: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, step: str) -> None:
        now = time.perf_counter()
        self._last, self.laps_ms[step] = now, (now - self._last) * 1000.0


def run_tick(engine: Engine, *, holder: str | None = None, watch: Stopwatch | None = None) -> Tick | None:
    """Run one tick; None if another worker holds the lease, or took it over meanwhile."""
    fence = lease.acquire(holder or lease.this_process())
    if fence is None:
        return None
    try:
        return _tick(engine, fence, watch or Stopwatch())
    except lease.LeaseLost:
        log.warning("lost the lease in mid-tick: nothing was written since")
        return None
    finally:
        lease.release(fence)


def _tick(engine: Engine, fence: int, watch: Stopwatch) -> Tick:
    last = Tick.objects.order_by("-number").first()
    answered = _listen(engine, fence)
    watch.lap("listen")
    # Workers may read clocks that differ a little: in the books time never goes back.
    now = engine.now() if last is None else max(engine.now(), last.now)
    observed = observe(now)
    watch.lap("observe")
    joint = plan_jointly(observed.world)
    decided = joint.plan
    watch.lap("plan")
    tick = Tick(
        number=last.number + 1 if last else 1,
        fence=fence,
        now=now,
        wall_at=timezone.now(),
        policy_id=observed.policy_id,
        planner=decided.solver,
        solver=joint.as_json(),
    )
    with transaction.atomic():  # what holds GPUs and where they are booked change together
        lease.confirm(fence)
        applied = apply(observed, decided, tick)
        watch.lap("apply")
        account(after(observed, decided, applied.opened), tick.number, last.now if last else None)
        watch.lap("account")
    answered = answered and carry_out(engine)
    watch.lap("carry_out")
    notes = [] if answered else [f"the engine {engine.name} did not answer"]
    notes += _solver_trouble(joint, tick)
    _note_costs(tick, watch.laps_ms, "; ".join(notes)[:200])
    return tick


def _solver_trouble(joint: Joint, tick: Tick) -> list[str]:
    """What kept the solver's plan from being used: told once, greedy's plan stood in for it."""
    said = [joint.trouble] if joint.trouble else []
    said += [f"the solver {s.status} on {model}" for model, s in joint.solved if s.status in FAILURES]
    if said:
        data = {"tick": tick.number, "trouble": "; ".join(said)[:200]}
        append_events([new_event("solver.trouble", at=tick.now, topics=["status"], data=data)])
    return said


def _note_costs(tick: Tick, ms: Mapping[str, float], note: str) -> None:
    tick.observe_ms, tick.plan_ms, tick.note = ms["observe"], ms["plan"], note
    tick.apply_ms, tick.engine_ms = ms["apply"] + ms["account"], ms["listen"] + ms["carry_out"]
    tick.save(update_fields=["observe_ms", "plan_ms", "apply_ms", "engine_ms", "note"])


def _listen(engine: Engine, fence: int) -> bool:
    """Ask the engine about every open run and node, and write what it said. False if it is out of reach."""
    keys = [str(k) for k in Run.objects.exclude(state=RunState.ENDED).values_list("launch_key", flat=True)]
    try:
        observations = engine.observe(keys)
        reports = engine.observe_nodes(list(Node.objects.values_list("name", flat=True)))
        now = engine.now()
    except EngineUnreachable:
        log.warning("the engine %s did not answer", engine.name, exc_info=True)
        return False
    _guarded(fence, lambda: reconcile(now, observations))
    with transaction.atomic():
        lease.confirm(fence)
        changes = take_in_node_reports(reports, engine.name)
        append_events(
            [
                new_event(
                    f"node.{change.state}",
                    at=change.at,
                    topics=["nodes", "capacity"],
                    node_id=change.node.pk,
                    data={"node": change.node.name, "state": change.state, "reason": change.reason},
                )
                for change in changes
            ]
        )
    return True


def account(observed: Observed, number: int, last_at: datetime | None) -> dict[State, int]:
    """Write where every GPU is now that the plan has been applied, and tell the pages."""
    totals = record_usage(observed, last_at)
    data = {"tick": number, "installed": sum(totals.values()), "pending": len(observed.jobs)}
    data |= {state.value: gpus for state, gpus in totals.items()}
    append_events([new_event("capacity", at=observed.at, topics=["capacity"], data=data)])
    return totals


def _guarded(fence: int, write: Callable[[], T]) -> T:
    """Write under the lease: a holder that has lost it writes nothing."""
    with transaction.atomic():
        lease.confirm(fence)
        return write()
