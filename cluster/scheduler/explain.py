"""Verdicts in words: one renderer for page, API and command.

Sentences follow one pattern: what is asked, what there is, what is short, who holds it, until when.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cluster.scheduler.verdict import Blocker, Verdict, binding
from cluster.scheduler.words import PRECEDENCE, Constraint

Moment = Callable[[float], str]
"""A time in seconds as text, with its zone."""

TITLES = {
    Constraint.NEVER_FITS: "Could ever run",
    Constraint.ADMIN_HOLD: "Not on hold",
    Constraint.START_TIME: "Start time reached",
    Constraint.NODE_HEALTH: "Healthy nodes",
    Constraint.QUOTA: "Quota",
    Constraint.GUARANTEE: "Guarantees of others",
    Constraint.RESERVATION: "Reservations ahead",
    Constraint.GANG_SIZE: "Room for the whole gang",
    Constraint.TOPOLOGY: "Close enough together",
    Constraint.POWER: "Power and cooling",
    Constraint.DATA: "Data",
    Constraint.DRAINING: "Preempted runs have left",
    Constraint.NOT_EVALUATED: "Evaluated",
}
TIERS = {"production": "production", "research": "research", "best_effort": "best effort"}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the checklist."""

    constraint: str
    title: str
    mark: str
    """"pass", "fail" or "unknown"."""
    text: str
    binds: bool
    blockers: tuple[Blocker, ...] = ()


def checklist(verdicts: Sequence[Verdict], moment: Moment) -> list[Line]:
    """All constraints in order of precedence, each with its arithmetic."""
    bound = binding(verdicts)
    ordered = sorted(verdicts, key=lambda v: PRECEDENCE[v.constraint])
    return [
        Line(v.constraint.value, TITLES[v.constraint], _mark(v), sentence(v, moment), v is bound, v.blockers)
        for v in ordered
    ]


def headline(verdicts: Sequence[Verdict], moment: Moment) -> str:
    """The one reason, as a sentence; empty if nothing blocks."""
    bound = binding(verdicts)
    return "" if bound is None else sentence(bound, moment)


def _mark(verdict: Verdict) -> str:
    if verdict.ok:
        return "pass"
    return "unknown" if verdict.constraint is Constraint.NOT_EVALUATED else "fail"


def sentence(verdict: Verdict, moment: Moment) -> str:
    """One verdict in words and numbers."""
    text = _SENTENCES[verdict.constraint](verdict, moment)
    if verdict.proof == "search" and verdict.constraint is not Constraint.NOT_EVALUATED:
        text += " The search for runs to preempt stopped at its budget: not a proof, it goes on next tick."
    return text


def hint_text(kind: str, data: Mapping[str, Any], moment: Moment) -> str:
    """One way to unblock, as a sentence. Each has been verified by planning the changed world."""
    return _HINTS[kind](data, moment)


def _jobs(data: Mapping[str, Any], moment: Moment) -> str:
    """When its runs are expected to have left, and whose they are."""
    listed = ", ".join(f"job {j}" for j in data["jobs"][:4])
    more = f" and {len(data['jobs']) - 4} more" if len(data["jobs"]) > 4 else ""
    return f"{_expected(data, moment)}: {listed}{more}"


def _expected(data: Mapping[str, Any], moment: Moment) -> str:
    until_s = data.get("until_s")
    return f" (expected {moment(until_s)})" if until_s is not None else ""


def _starts(data: Mapping[str, Any]) -> str:
    in_s = data.get("in_s", 0.0)
    return (
        "it starts now"
        if not in_s
        else f"it starts within {number(in_s)} s, when the runs it sends away have left"
    )


_WIDER = {"block": "one block", "pod": "one pod", "cluster": "the cluster"}
_HINTS: dict[str, Callable[[Mapping[str, Any], Moment], str]] = {
    "release": lambda data, moment: "Release the hold: it starts at the next tick.",
    "wait": lambda data, moment: f"Wait: it starts at {moment(data['until_s'])}.",
    "preemptible": lambda data, moment: (
        f"Submit it as preemptible {TIERS[data['tier']]}: {_starts(data)}, on loan."
    ),
    "entitlement": lambda data, moment: (
        f"Raise the guarantee of {data['tenant']} for {data['model']} from {number(data['from_gpus'])} "
        f"to {number(data['to_gpus'])} GPUs: {_starts(data)}."
    ),
    "smaller": lambda data, moment: (
        f"Ask for {counted(data['gpus'], 'GPU')}: a gang of that size starts now."
    ),
    "topology": lambda data, moment: f"Allow it to spread over {_WIDER[data['locality']]}: {_starts(data)}.",
    "tier": lambda data, moment: f"Submit it as {TIERS[data['tier']]}: {_starts(data)}.",
    "runs_end": lambda data, moment: (
        f"When {counted(len(data['jobs']), 'run')} {_have(data['jobs'])} ended{_jobs(data, moment)}."
    ),
    "nodes_back": lambda data, moment: (
        f"When {', '.join(data['nodes'])} {'takes' if len(data['nodes']) == 1 else 'take'} work again."
    ),
    "others_wait": lambda data, moment: f"If the gangs ahead stood aside{_jobs(data, moment)}.",
    "start_now": lambda data, moment: f"Do without the closer set (prefer the cluster): {_starts(data)}.",
    "cooler": lambda data, moment: (
        f"Cap its GPUs to {watts(data['to_w'])} above idle, not {watts(data['from_w'])}: {_starts(data)}."
    ),
    "power": lambda data, moment: (
        f"With {watts(data['more_w'])} more on {data['scope']}"
        f"{'' if data['state'] == 'normal' else ' (' + data['state'] + ')'}: {_starts(data)}."
    ),
    "cache_room": lambda data, moment: (
        f"With {number(data['gb'])} GB free in the cache of {', '.join(data['nodes'])}: {_starts(data)}."
    ),
    "both": lambda data, moment: (
        f"Two changes together: {_step(data['first'], moment)} and then "
        f"{_step(data['second'], moment)}: {_starts(data)}."
    ),
    "draining": lambda data, moment: (
        f"Nothing to do: it starts when the preempted runs are out{_expected(data, moment)}."
    ),
}


def _step(hint: Any, moment: Moment) -> str:
    """A change as one of two: without what it leads to by itself."""
    text = hint_text(hint.kind, {**hint.data, "in_s": hint.data.get("in_s", 0.0)}, moment)
    text = text.removesuffix(".").split(": it starts")[0].split(": a gang of")[0]
    return text[:1].lower() + text[1:]


def _have(several: Sequence[object]) -> str:
    return "has" if len(several) == 1 else "have"


def number(value: float | None) -> str:
    """A count without needless decimals; unknown is said, not shown as 0."""
    if value is None:
        return "unknown"
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def counted(value: float | None, noun: str) -> str:
    """A number with its noun in the right number: "1 node", "3 nodes"."""
    return f"{number(value)} {noun if value == 1 else noun + 's'}"


def blocker_text(blocker: Blocker, moment: Moment) -> str:
    until = f", until {moment(blocker.until_s)}" if blocker.until_s is not None else ""
    tier = f" {TIERS.get(blocker.tier, blocker.tier)}" if blocker.tier else ""
    if blocker.kind == "tenant":
        return f"{blocker.id} keeps {counted(blocker.gpus, 'GPU')}"
    noun = "reservation of job" if blocker.kind == "reservation" else "job"
    return f"{noun} {blocker.id} ({blocker.tenant},{tier} {counted(blocker.gpus, 'GPU')}{until})"


def _most(blockers: Sequence[Blocker], moment: Moment, shown: int = 3) -> str:
    listed = "; ".join(blocker_text(b, moment) for b in blockers[:shown])
    more = len(blockers) - shown
    return listed + (f"; and {more} more" if more > 0 else "")


def _never_fits(v: Verdict, moment: Moment) -> str:
    if v.ok:
        return f"{counted(v.demand, 'GPU')} of {number(v.limit)} installed ({v.scope})."
    if v.note == "power":
        return f"It can never run, there is not the power even with nothing else running: {_watts_short(v)}."
    asked = f"{counted(v.demand, v.unit)} asked, {number(v.limit)} installed ({v.scope})"
    if v.note == "shape":
        return f"It can never run as close together as it must: {asked}."
    return f"It can never run: {asked}."


def _admin_hold(v: Verdict, moment: Moment) -> str:
    return "Not on hold." if v.ok else f"Held by a person: {', '.join(v.names) or 'no reason given'}."


def _start_time(v: Verdict, moment: Moment) -> str:
    until = moment(v.until_s) if v.until_s is not None else "unknown"
    why = "Backing off after a failed start" if v.note == "backoff" else "Not to start before its time"
    return f"{why}: next try at {until}."


def _node_health(v: Verdict, moment: Moment) -> str:
    if v.ok:
        return f"{counted(v.limit, 'GPU')} are on nodes that take work ({v.scope})."
    needed = "It cannot run without nodes that are out of service"
    text = needed if v.note == "needed" else "It would fit if the nodes out of service were back"
    return (
        f"{text}: {counted(v.demand, v.unit)} asked; of {number(v.limit)} {v.scope} "
        f"{number(v.used)} are out of service: {', '.join(v.names)}."
    )


def _quota(v: Verdict, moment: Moment) -> str:
    if v.note == "no_quotas":
        return "No quotas apply under this policy."
    if v.note == "entitled":
        sum_ = f"{number(v.used)} used + {number(v.demand)} asked ≤ {number(v.limit)}"
        return f"Within its guarantee: {sum_} ({v.scope})."
    if v.note == "loan":
        return (
            f"Above its guarantee of {number(v.limit)} ({v.scope} uses {number(v.used)}): "
            "it would run on loan and can be called back."
        )
    over = f"{number(v.used)} used + {number(v.demand)} asked = {number((v.used or 0) + (v.demand or 0))}"
    short = f"{over}, {number(v.missing)} over the "
    if v.note == "not_preemptible":
        text = f"{short}guarantee of {number(v.limit)} ({v.scope}); only preemptible jobs may borrow."
    elif v.note == "hard_quota":
        text = f"{short}quota of {number(v.limit)} ({v.scope}); this policy lends nothing."
    else:
        text = f"{short}guarantee and borrowing limit, together {number(v.limit)} ({v.scope})."
    return text + _saving(v, moment)


def _guarantee(v: Verdict, moment: Moment) -> str:
    kept = f" Held back by lending limits: {_most(v.blockers, moment)}." if v.blockers else ""
    asked = f"{number(v.demand)} asked beyond its guarantee"
    total = number((v.used or 0) + (v.demand or 0))
    text = (
        f"{number(v.used)} on loan or promised to gangs ahead + {asked} = {total}, "
        f"{number(v.missing)} over the {number(v.limit)} GPUs that others would leave idle ({v.scope})."
    )
    return text + kept + _saving(v, moment)


def _saving(v: Verdict, moment: Moment) -> str:
    """What is added for a gang that quota is saved for."""
    if v.ok or v.until_s is None:
        return ""
    return f" What comes back is saved for it: enough is expected at {moment(v.until_s)}."


def _reservation(v: Verdict, moment: Moment) -> str:
    if v.note == "head":
        return f"Behind {_most(v.blockers, moment)}: this policy lets nothing pass the head of the queue."
    if v.note == "saving":
        until = f" They are expected to have enough at {moment(v.until_s)}." if v.until_s is not None else ""
        return (
            f"{number(v.used)} used or saved for gangs that have waited longer + {number(v.demand)} asked, "
            f"{number(v.missing)} over {number(v.limit)} ({v.scope}): {_most(v.blockers, moment)}.{until}"
        )
    until = f" The last is expected to be whole at {moment(v.until_s)}." if v.until_s is not None else ""
    return (
        f"{number(v.limit)} {v.scope} are free, but {number(v.used)} of them are held for gangs ahead, and "
        f"{number(v.demand)} are asked: {_most(v.blockers, moment)}.{until}"
    )


def _gang_size(v: Verdict, moment: Moment) -> str:
    if v.ok:
        return f"{counted(v.demand, 'GPU')} asked, {number(v.limit)} free ({v.scope})."
    if v.unit == "node":
        text = f"{', '.join(v.names) or 'Enough'} GPUs are free in pieces: {_free(v)}"
    else:
        text = _free(v)
    if v.note.endswith("gathering"):
        whole = f", expected whole at {moment(v.until_s)}" if v.until_s is not None else ""
        text += f" It is gathering nodes{whole}."
    if v.reclaimable is not None:
        text += f" It may call back or preempt {counted(v.reclaimable, 'GPU')}."
    return text + (f" Held by {_most(v.blockers, moment)}." if v.blockers else "")


def _topology(v: Verdict, moment: Moment) -> str:
    if v.ok:
        return "Not the question yet: there is no room for it anywhere."
    if v.note == "compact":
        return _compact(v, moment)
    return f"It would fit, but not close enough together: {_free(v)}"


def _compact(v: Verdict, moment: Moment) -> str:
    what = {"cost": "costs less", "deadline": "meets its deadline at less cost"}.get(
        str(v.facts.get("objective")), "is done sooner"
    )
    start = f" from {moment(v.until_s)}" if v.until_s is not None else ""
    return (
        f"It could start now over {counted(_fact(v, 'blocks_now'), 'block')} "
        f"({_factor(v, 'slowdown_now')} runtime, done {_at(v, 'done_now_s', moment)}), but it {what} by "
        f"waiting for {counted(_fact(v, 'blocks_later'), 'block')}{start} "
        f"({_factor(v, 'slowdown_later')}, done {_at(v, 'done_later_s', moment)})."
    )


def _fact(v: Verdict, name: str) -> float | None:
    value = v.facts.get(name)
    return None if value is None else float(value)


def _factor(v: Verdict, name: str) -> str:
    value = _fact(v, name)
    return "unknown" if value is None else f"×{value:.2f}"


def _at(v: Verdict, name: str, moment: Moment) -> str:
    value = _fact(v, name)
    return "at an unknown time" if value is None else moment(value)


def _power(v: Verdict, moment: Moment) -> str:
    if v.ok:
        return f"Its draw of {watts(v.demand)} fits ({v.scope})."
    until = f" Enough is expected to be free at {moment(v.until_s)}." if v.until_s is not None else ""
    holders = f" Drawn by {_most(v.blockers, moment)}." if v.blockers else ""
    return f"There are GPUs, but not the power: {_watts_short(v)}.{holders}{until}"


def _watts_short(v: Verdict) -> str:
    state = str(v.facts.get("state", "normal"))
    when = "" if state == "normal" else f" with {state}"
    free = None if v.limit is None else max(0.0, v.limit - (v.used or 0.0))
    return (
        f"{v.scope}{when} has {watts(free)} free of {watts(v.limit)}, and {watts(v.demand)} are asked "
        f"({watts(_fact(v, 'draw_w'))} for each GPU): {watts(v.missing)} short"
    )


def watts(value: float | None) -> str:
    """Watts for people: kW from 10 kW on."""
    if value is None:
        return "unknown"
    return f"{value / 1000:,.1f} kW" if abs(value) >= 10_000 else f"{value:,.0f} W"


def _data(v: Verdict, moment: Moment) -> str:
    dataset = v.facts.get("dataset", "")
    if v.ok:
        holders = v.facts.get("holders")
        if holders is None:
            return f"Nothing is known of dataset {dataset}: its staging is not counted."
        minutes = round((_fact(v, "stage_s") or 0.0) / 60, 1)
        stage = f"; staging elsewhere takes about {number(minutes)} min"
        return f"Dataset {dataset} is on {counted(float(holders), 'node')}{stage}."
    room = (v.limit or 0) - (v.used or 0)
    return (
        f"There are GPUs, but no room for its data: {counted(v.demand, 'node')} asked; of {number(v.limit)} "
        f"{v.scope} only {number(room)} can take dataset {dataset} ({number(_fact(v, 'size_gb'))} GB). "
        f"Full: {', '.join(v.names)}."
    )


def _free(v: Verdict) -> str:
    """The arithmetic of what is free."""
    asked = f"{counted(v.demand, v.unit)} asked"
    return f"{asked}, {number(v.limit)} free of {v.scope}: {number(v.missing)} short."


def _draining(v: Verdict, moment: Moment) -> str:
    until = f"; all are out by {moment(v.until_s)}" if v.until_s is not None else ""
    return f"Waiting for {counted(v.demand, 'preempted run')} to leave{until}: {_most(v.blockers, moment)}."


def _not_evaluated(v: Verdict, moment: Moment) -> str:
    if v.note == "freed_late":
        return "GPUs came free while this tick was planned: it is tried again at the next one."
    if v.note == "overtaken":
        return "It was about to start when its nodes or the job itself changed: it is tried again at once."
    return "Not evaluated yet: it came after the last tick."


_SENTENCES: dict[Constraint, Callable[[Verdict, Moment], str]] = {
    Constraint.NEVER_FITS: _never_fits,
    Constraint.ADMIN_HOLD: _admin_hold,
    Constraint.START_TIME: _start_time,
    Constraint.NODE_HEALTH: _node_health,
    Constraint.QUOTA: _quota,
    Constraint.GUARANTEE: _guarantee,
    Constraint.RESERVATION: _reservation,
    Constraint.GANG_SIZE: _gang_size,
    Constraint.TOPOLOGY: _topology,
    Constraint.POWER: _power,
    Constraint.DATA: _data,
    Constraint.DRAINING: _draining,
    Constraint.NOT_EVALUATED: _not_evaluated,
}
