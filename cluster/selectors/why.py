"""Why a job waits, as it stands now: the open decision with its verdicts, for rows and the job page."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from cluster.models import Decision, Job, Outcome
from cluster.scheduler import explain
from cluster.scheduler.explain import Moment
from cluster.scheduler.verdict import Verdict, binding
from cluster.scheduler.words import PRECEDENCE


@dataclass(frozen=True)
class Why:
    """One hold. `made_at` is when this reason began; `evaluated_at` when its numbers were last worked out."""

    verdicts: tuple[Verdict, ...]
    made_at: datetime
    evaluated_at: datetime
    decision_id: int
    tick: int | None

    @cached_property
    def binding(self) -> Verdict | None:
        return binding(self.verdicts)

    @cached_property
    def ordered(self) -> list[Verdict]:
        """The one that binds, the others that fail, those that pass; each group in order of precedence."""
        bound = self.binding
        return sorted(self.verdicts, key=lambda v: (v is not bound, v.ok, PRECEDENCE[v.constraint]))

    def sentence(self, moment: Moment) -> str:
        """The one reason in words. `moment` says a time (seconds) as the reader's clock shows it."""
        return explain.headline(self.verdicts, moment)

    def lines(self, moment: Moment) -> list[tuple[explain.Line, Verdict]]:
        """The checklist, the line that binds on top, each with the verdict it tells."""
        said = {line.constraint: line for line in explain.checklist(self.verdicts, moment)}
        return [(said[v.constraint.value], v) for v in self.ordered]


def why(job: Job) -> Why | None:
    """From `job.open_decisions` if it was read with them, else one query. None if it is not held."""
    known = getattr(job, "open_decisions", None)
    if known is None:
        known = job.decisions.filter(superseded_at__isnull=True).select_related("explanation", "tick")[:1]
    for decision in known:
        return of_decision(decision, now=True) if decision.outcome == Outcome.HOLD else None
    return None


def of_decision(decision: Decision, *, now: bool = False) -> Why:
    """As the decision was made, or with `now` as its explanation stands at present."""
    explanation = decision.explanation if now else None
    raw = explanation.verdicts if explanation else decision.verdicts
    return Why(
        verdicts=tuple(Verdict.from_json(v) for v in raw),
        made_at=decision.made_at,
        evaluated_at=explanation.evaluated_at if explanation else decision.made_at,
        decision_id=decision.pk,
        tick=decision.tick_id,
    )
