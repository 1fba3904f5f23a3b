"""Record the decisions of a plan: one open decision a job, superseded only when the reason changes."""

import hashlib
from collections.abc import Collection, Set
from typing import Any

from django.db.models import Q

from cluster.models import Decision, Event, Explanation, JobState, Outcome, Run, Tick
from cluster.pipeline.bulk import update_rows
from cluster.pipeline.observe import Observed
from cluster.scheduler.plan import Hold, Plan, Start
from cluster.scheduler.verdict import Verdict, binding, signature
from cluster.scheduler.words import Constraint
from cluster.scheduler.world import Shape
from cluster.services.append_event import job_event

OVERTAKEN = Verdict(Constraint.NOT_EVALUATED, False, "this tick", unit="", note="overtaken", proof="search")
"""The job was to start, but by the time this was written its GPUs or the job itself had changed."""


def record_starts(opened: Collection[tuple[Run, Start]], plan: Plan, tick: Tick) -> None:
    """Write that these runs were started, and by what right."""
    started = [run.job_id for run, _ in opened]
    Decision.objects.filter(superseded_at=None, job_id__in=started).update(superseded_at=tick.now)
    Decision.objects.bulk_create(
        Decision(
            job_id=run.job_id,
            outcome=Outcome.START,
            verdicts=[],
            signature=("entitled" if start.entitled else "loan") + (", backfill" if run.is_backfill else ""),
            run=run,
            tick=tick,
            made_at=tick.now,
            choice=_choice(plan, run.job_id),
        )
        for run, start in opened
    )


def _choice(plan: Plan, job_id: int) -> dict[str, Any] | None:
    """Both estimates, where it was weighed whether to start now or wait for a closer set."""
    choice = plan.choices.get(job_id)
    return None if choice is None else choice.as_json()


def record_holds(observed: Observed, plan: Plan, tick: Tick, held: Set[int]) -> list[Event]:
    """Write why each of these jobs waits. Gives the events of those whose reason changed."""
    holds = _holds(observed, plan, held)
    explanations = _bring_up_to_date(dict(holds.values()), tick)
    signs = {id(hold): signature(hold.verdicts) for _, hold in holds.values()}
    open_now = _open_now()
    fresh, ended, moved, events = [], [], [], []
    for job_id, (key, hold) in holds.items():
        explanation, sign = explanations[key], signs[id(hold)]
        pk, current_sign, explained_by = open_now.get(job_id, (None, None, None))
        if current_sign == sign:
            if explained_by != explanation.pk:
                moved.append(Decision(pk=pk, explanation=explanation))
            continue
        if pk is not None:
            ended.append(pk)
        fresh.append(_decision(job_id, explanation, tick, sign, _choice(plan, job_id)))
        events.append(
            job_event(
                "job.held", observed.jobs[job_id], at=tick.now, constraint=explanation.constraint, job=job_id
            )
        )
    _supersede(ended, tick)
    Decision.objects.bulk_create(fresh)
    update_rows(moved, ["explanation"])
    return events


def _open_now() -> dict[int, tuple[int, str | None, int | None]]:
    """job id → (decision, its signature, its explanation) of pending jobs; a start has no signature here."""
    rows = Decision.objects.filter(superseded_at=None, job__state=JobState.PENDING).order_by()
    columns = ("job_id", "pk", "outcome", "signature", "explanation_id")
    return {
        job_id: (pk, sign if outcome == Outcome.HOLD else None, explained_by)
        for job_id, pk, outcome, sign, explained_by in rows.values_list(*columns)
    }


def _supersede(ended: list[int], tick: Tick) -> None:
    """Close these, and those of jobs that were withdrawn while an earlier tick wrote why they waited."""
    withdrawn = Q(outcome=Outcome.HOLD) & ~Q(job__state=JobState.PENDING)
    Decision.objects.filter(Q(pk__in=ended) | withdrawn, superseded_at=None).update(superseded_at=tick.now)


def _holds(observed: Observed, plan: Plan, held: Set[int]) -> dict[int, tuple[str, Hold]]:
    """job id → (explanation key, hold). Jobs of one shape share a key unless they have their own hold."""
    keys: dict[int, str] = {}
    found = {}
    for job in observed.world.pending:
        if job.id not in held:
            continue
        hold = plan.hold_of(job) or Hold(job.shape, (OVERTAKEN,))
        if job.id in plan.own_holds or job.id in plan.started_ids:
            key = f"job:{job.id}"
        else:
            key = keys.get(id(job.shape)) or keys.setdefault(id(job.shape), _digest(job.shape))
        found[job.id] = (key, hold)
    return found


def _digest(shape: Shape) -> str:
    return hashlib.sha256(repr(shape).encode()).hexdigest()[:40]


def _decision(
    job_id: int, explanation: Explanation, tick: Tick, sign: str, choice: dict[str, Any] | None
) -> Decision:
    return Decision(
        job_id=job_id,
        outcome=Outcome.HOLD,
        constraint=explanation.constraint,
        signature=sign,
        verdicts=explanation.verdicts,
        explanation=explanation,
        tick=tick,
        made_at=tick.now,
        choice=choice,
    )


def _bring_up_to_date(holds: dict[str, Hold], tick: Tick) -> dict[str, Explanation]:
    """The explanation row of each key, with the verdicts of this tick."""
    rows = {row.key: row for row in Explanation.objects.filter(key__in=list(holds))}
    fresh, changed, same = [], [], []
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
        else:
            same.append(row.pk)
        row.constraint, row.verdicts, row.evaluated_at, row.tick = constraint, verdicts, tick.now, tick
        rows[key] = row
    Explanation.objects.bulk_create(fresh)
    update_rows(changed, ["constraint", "verdicts", "evaluated_at", "tick"])
    Explanation.objects.filter(pk__in=same).update(evaluated_at=tick.now, tick=tick)
    return rows
