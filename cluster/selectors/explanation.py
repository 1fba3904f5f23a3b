"""Why is this job waiting? One object for page, API, command and audit."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from cluster import clock
from cluster.models import Decision, Forecast, Job, JobState, Outcome
from cluster.pipeline.observe import observe
from cluster.scheduler.explain import Line, checklist, headline, hint_text
from cluster.scheduler.unblock import unblock
from cluster.scheduler.verdict import Verdict, binding
from cluster.scheduler.words import Constraint
from cluster.selectors.expected_start import tells_a_start

MARKS = {"pass": "✓", "fail": "✗", "unknown": "?"}


@dataclass(frozen=True)
class Explanation:
    """What is known about why a job waits (or does not)."""

    job_id: int
    state: str
    headline: str
    """One sentence."""
    constraint: str
    """The one that binds; empty unless the job is held."""
    lines: Sequence[Line]
    """The checklist in order of precedence."""
    hints: Sequence[str]
    """What would unblock it, each verified by re-planning; empty if not asked for or not found."""
    proof: str
    """"proof" or "search" (a budget ended before the answer was certain)."""
    since: datetime | None
    """Since when this reason holds."""
    evaluated_at: datetime | None
    expected_median_at: datetime | None
    expected_p90_at: datetime | None
    expected_computed_at: datetime | None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def stamp(seconds: float) -> str:
    """A time of the engine's clock for a sentence, with its zone."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%d %b %H:%M UTC")


def explain_job(job: Job, *, with_hints: bool = True) -> Explanation:
    """The explanation of one job as of the last tick."""
    decision = (
        Decision.objects.filter(job=job, superseded_at=None)
        .select_related("explanation", "tick", "run")
        .first()
    )
    if job.state != JobState.PENDING:
        return _of_state(job, decision)
    if decision is None or decision.outcome != Outcome.HOLD:
        verdicts: tuple[Verdict, ...] = (Verdict(Constraint.NOT_EVALUATED, False, "this tick", unit=""),)
    else:
        verdicts = verdicts_now(decision)
    bound = binding(verdicts)
    expected = Forecast.objects.filter(job=job).first()
    if not tells_a_start(expected, job, clock.now()):
        expected = None
    return Explanation(
        job_id=job.pk,
        state=job.state,
        headline=headline(verdicts, stamp),
        constraint=bound.constraint.value if bound else "",
        lines=checklist(verdicts, stamp),
        hints=_hints(job, verdicts) if with_hints else (),
        proof=bound.proof if bound else "proof",
        since=decision.made_at if decision else None,
        evaluated_at=decision.explanation.evaluated_at if decision and decision.explanation else None,
        expected_median_at=expected.median_at if expected else None,
        expected_p90_at=expected.p90_at if expected else None,
        expected_computed_at=expected.computed_at if expected else None,
    )


def as_text(job: Job, found: Explanation) -> str:
    """All of it as plain text: what the command prints and the API carries."""
    lines = [
        f"Job {job.pk} {job.name} ({job.tenant}, {job.get_tier_display()}, {job.gpus} GPUs): {found.headline}"
    ]
    lines += [
        f"  {MARKS[line.mark]} {line.title}{' (binds)' if line.binds else ''}: {line.text}"
        for line in found.lines
    ]
    if found.hints:
        lines += ["  What would unblock it:"] + [f"    - {hint}" for hint in found.hints]
    if found.expected_median_at is not None:
        late = f", by {found.expected_p90_at:%d %b %H:%M} with 90 %" if found.expected_p90_at else ""
        lines.append(f"  Expected start {found.expected_median_at:%d %b %H:%M UTC}{late}")
    return "\n".join(lines)


def verdicts_now(decision: Decision) -> tuple[Verdict, ...]:
    """The verdicts behind an open hold, with the numbers of the last tick."""
    live = decision.explanation
    return tuple(Verdict.from_json(v) for v in (live.verdicts if live is not None else decision.verdicts))


def decision_text(decision: Decision) -> str:
    """One decision of the history in a sentence."""
    if decision.outcome == Outcome.START:
        run = f"run {decision.run.number}" if decision.run else "a run"
        return f"Started as {run} ({decision.signature})."
    return headline([Verdict.from_json(v) for v in decision.verdicts], stamp)


def _of_state(job: Job, decision: Decision | None) -> Explanation:
    text = f"It is {job.get_state_display()}" + (f": {job.state_reason}." if job.state_reason else ".")
    if job.state == JobState.ACTIVE and decision is not None:
        text = decision_text(decision)
    since = job.ended_at or (decision.made_at if decision else None)
    return Explanation(job.pk, job.state, text, "", (), (), "proof", since, None, None, None, None)


def _hints(job: Job, verdicts: tuple[Verdict, ...]) -> tuple[str, ...]:
    """Re-plan changed worlds until up to three changes are found after which the job starts."""
    observed = observe(clock.now())
    view = next((j for j in observed.world.pending if j.id == job.pk), None)
    if view is None:
        return ()
    return tuple(hint_text(h.kind, h.data, stamp) for h in unblock(observed.world, view, verdicts))
