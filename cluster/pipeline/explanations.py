"""Record the decisions of a plan: one open decision a job, superseded only when the reason changes."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from cluster.models import Decision, Event, Explanation, Outcome, Tick
from cluster.pipeline.observe import Observed
from cluster.scheduler.plan import Hold, Plan
from cluster.scheduler.verdict import binding, signature
from cluster.services.append_event import job_event


def record_holds(observed: Observed, plan: Plan, tick: Tick, started: set[int]) -> list[Event]:
    """Write why every job that was not started waits. Gives the events of those whose reason changed."""
    holds = _holds(observed, plan, started)
    explanations = _bring_up_to_date({key: hold for key, hold in holds.values()}, tick)
    open_now = {
        d.job_id: d
        for d in Decision.objects.filter(superseded_at=None, job_id__in=holds).only(
            "job_id", "outcome", "signature", "explanation_id"
        )
    }
    fresh, ended, moved, events = [], [], [], []
    for job_id, (key, hold) in holds.items():
        explanation = explanations[key]
        current, sign = open_now.get(job_id), signature(hold.verdicts)
        if current is not None and current.outcome == Outcome.HOLD and current.signature == sign:
            if current.explanation_id != explanation.pk:
                current.explanation_id = explanation.pk
                moved.append(current)
            continue
        if current is not None:
            ended.append(current.pk)
        fresh.append(_decision(job_id, hold, explanation, tick, sign))
        events.append(
            job_event(
                "job.held", observed.jobs[job_id], at=tick.now, constraint=explanation.constraint, job=job_id
            )
        )
    Decision.objects.filter(pk__in=ended).update(superseded_at=tick.now)
    Decision.objects.bulk_create(fresh)
    Decision.objects.bulk_update(moved, ["explanation_id"])
    return events


def _holds(observed: Observed, plan: Plan, started: set[int]) -> dict[int, tuple[str, Hold]]:
    """job id → (explanation key, hold). Jobs of one shape share a key unless they have a hold of their own."""
    keys: dict[int, str] = {}
    found = {}
    for job in observed.world.pending:
        hold = plan.hold_of(job)
        if hold is None or job.id in started:
            continue
        if job.id in plan.own_holds:
            key = f"job:{job.id}"
        else:
            key = keys.setdefault(id(job.shape), _digest(asdict(job.shape)))
        found[job.id] = (key, hold)
    return found


def _digest(data: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True, default=str).encode()).hexdigest()[:40]


def _decision(job_id: int, hold: Hold, explanation: Explanation, tick: Tick, sign: str) -> Decision:
    return Decision(
        job_id=job_id,
        outcome=Outcome.HOLD,
        constraint=explanation.constraint,
        signature=sign,
        verdicts=[v.as_json() for v in hold.verdicts],
        explanation=explanation,
        tick=tick,
        made_at=tick.now,
    )


def _bring_up_to_date(holds: dict[str, Hold], tick: Tick) -> dict[str, Explanation]:
    """The explanation row of each key, with the verdicts of this tick."""
    rows = {row.key: row for row in Explanation.objects.filter(key__in=list(holds))}
    fresh, changed = [], []
    for key, hold in holds.items():
        bound = binding(hold.verdicts)
        verdicts = [v.as_json() for v in hold.verdicts]
        constraint = bound.constraint.value if bound else ""
        row = rows.get(key)
        if row is None:
            row = Explanation(key=key)
            fresh.append(row)
        elif row.verdicts != verdicts:
            changed.append(row)
        row.constraint, row.verdicts, row.evaluated_at, row.tick = constraint, verdicts, tick.now, tick
        rows[key] = row
    Explanation.objects.bulk_create(fresh)
    Explanation.objects.bulk_update(
        changed, ["constraint", "verdicts", "evaluated_at", "tick"], batch_size=500
    )
    return rows


def supersede(job_ids: Iterable[int], tick: Tick) -> None:
    """Close the open decisions of jobs that have left the queue."""
    Decision.objects.filter(superseded_at=None, job_id__in=list(job_ids)).update(superseded_at=tick.now)
