"""Verdicts on what a gang needs besides free GPUs: power, room for its data, a set that is close together."""

from cluster.scheduler.draft import Draft
from cluster.scheduler.ends import projected_end
from cluster.scheduler.needs import Needs
from cluster.scheduler.spread import Choice
from cluster.scheduler.supply import Supply
from cluster.scheduler.verdict import Blocker, Verdict
from cluster.scheduler.words import Constraint
from cluster.scheduler.world import RunView, Shape

MOST_DOMAINS = 12
"""So many domains are looked at for the one where least power is short."""
MOST_BLOCKERS = 8


class NeedsVerdicts:
    """Made from one finished draft. Shapes that ask the same of nodes share their answers."""

    def __init__(self, draft: Draft) -> None:
        self.draft, self.world = draft, draft.world
        self._shared: dict[tuple[object, ...], list[Verdict]] = {}
        self._never: dict[tuple[object, ...], Verdict | None] = {}
        self._drawn: dict[int, list[tuple[float, RunView, float]]] = {}

    def power_or_data(self, shape: Shape, room: Supply, whose: object) -> list[Verdict]:
        """Why the gang cannot stand where there are GPUs enough: what fails; its data line if nothing does.

        `whose` names the room: equal ones are equal rooms. None: the room is one job's own.
        """
        needs = self.draft.needs(shape)
        key = (whose, shape.model, shape.members, shape.required, shape.draw_w, shape.data, shape.avoids)
        if whose is not None and key in self._shared:
            return self._shared[key]
        found = self._work_out(shape, room, needs)
        if whose is not None:
            self._shared[key] = found
        return found

    def _work_out(self, shape: Shape, room: Supply, needs: Needs) -> list[Verdict]:
        if room.place(shape.members, shape.model, shape.required, needs=needs) is not None:
            return [self._data_line(shape)] if shape.data else []
        failing = self._data(shape, room, needs) or self._power(shape, room, needs)
        return [failing] if failing is not None else []

    def _data(self, shape: Shape, room: Supply, needs: Needs) -> Verdict | None:
        """Fails when too few of the nodes that are free have room for the dataset."""
        if not needs.barred:
            return None
        without = Needs(0.0, needs.barred)
        if room.place(shape.members, shape.model, shape.required, needs=without) is not None:
            return None
        least, nodes = shape.members[-1][1], self.world.fleet.nodes
        free = [i for i, node in enumerate(nodes) if node.model == shape.model and room.free[i] >= least]
        full = [i for i in free if i in needs.barred]
        dataset = self.world.data.datasets[shape.data]
        return Verdict(
            Constraint.DATA,
            False,
            f"free {shape.model} nodes",
            shape.node_count,
            len(full),
            len(free),
            unit="node",
            names=tuple(nodes[i].name for i in full[:MOST_BLOCKERS]),
            facts={"dataset": shape.data, "size_gb": dataset.size_gb or 0.0},
        )

    def _data_line(self, shape: Shape) -> Verdict:
        """The data line of a checklist that passes: who holds the dataset, and what staging it takes."""
        dataset = self.world.data.datasets.get(shape.data)
        facts: dict[str, float | str] = {"dataset": shape.data}
        if dataset is not None:
            facts |= {"holders": float(len(dataset.holders)), "stage_s": dataset.stage_s}
        return Verdict(Constraint.DATA, True, f"dataset {shape.data}", unit="node", facts=facts)

    def _power(self, shape: Shape, room: Supply, needs: Needs) -> Verdict | None:
        """Fails with the limit that is short of least, in the best of the places that have GPUs enough."""
        if room.power is None or not needs.draw_w:
            return None
        found = _least_short(room, shape, Needs(0.0, needs.barred))
        if found is None:
            return None
        short_w, limit, asked_w = found
        element = room.power.grid.limits[limit]
        blockers, until_s = self._drawing(limit, short_w)
        return Verdict(
            Constraint.POWER,
            False,
            element.scope,
            asked_w,
            room.power.used_w(limit),
            element.limit_w,
            unit="W",
            blockers=blockers,
            until_s=until_s,
            facts={"state": element.state, "draw_w": needs.draw_w},
        )

    def _drawing(self, limit: int, short_w: float) -> tuple[tuple[Blocker, ...], float | None]:
        """The runs whose power the limit carries, the first to end first, as many as free enough."""
        chosen: list[Blocker] = []
        for end_s, run, watts in self._drawn_of(limit):
            shape = run.shape
            chosen.append(Blocker("run", str(run.job_id), shape.gpus, shape.tenant, shape.tier, end_s))
            short_w -= watts
            if short_w <= 0:
                return tuple(chosen[-MOST_BLOCKERS:]), end_s
        return tuple(chosen[-MOST_BLOCKERS:]), None

    def _drawn_of(self, limit: int) -> list[tuple[float, RunView, float]]:
        """(expected end, run, W) of what a limit carries, the first to end first."""
        if limit not in self._drawn:
            grid, now_s = self.world.fleet.power, self.world.now_s
            assert grid is not None
            shares = [dict(at).get(limit, 0.0) for at in grid.of_node]
            drawn = [
                (projected_end(run, now_s), run, watts)
                for run in self.world.runs.values()
                if (watts := run.shape.draw_w * sum(shares[i] * n for i, n in run.placement.items())) > 0
            ]
            drawn.sort(key=lambda e: (e[0], e[1].id))
            self._drawn[limit] = drawn
        return self._drawn[limit]

    def never(self, empty: Supply, shape: Shape) -> Verdict | None:
        """Fails when the gang's power is more than the fleet could give it with nothing else running."""
        key = (shape.model, shape.members, shape.required, shape.draw_w)
        if key not in self._never:
            self._never[key] = self._beyond(empty, shape)
        return self._never[key]

    def _beyond(self, empty: Supply, shape: Shape) -> Verdict | None:
        if empty.power is None or not shape.draw_w:
            return None
        needs = Needs(shape.draw_w)
        if empty.place(shape.members, shape.model, shape.required, needs=needs) is not None:
            return None
        found = _least_short(empty, shape, Needs())
        if found is None:
            return None
        _, limit, asked_w = found
        element = empty.power.grid.limits[limit]
        return Verdict(
            Constraint.NEVER_FITS,
            False,
            element.scope,
            asked_w,
            empty.power.used_w(limit),
            element.limit_w,
            unit="W",
            note="power",
            facts={"state": element.state, "draw_w": shape.draw_w},
        )


def _least_short(room: Supply, shape: Shape, needs: Needs) -> tuple[float, int, float] | None:
    """(W short, limit, W asked of it) in the place, among those with GPUs enough, that lacks least."""
    assert room.power is not None
    domains = [d for d in room.fleet.at(shape.model, shape.required) if room.holds(shape.members, d)]
    found = []
    for domain in domains[:MOST_DOMAINS]:
        placement = room.place(shape.members, shape.model, shape.required, within=domain, needs=needs)
        tightest = None if placement is None else room.power.tightest(placement, shape.draw_w)
        if tightest is not None:
            found.append((tightest[1] - room.power.left_w[tightest[0]], *tightest))
    return min(found, default=None)


def compact(choice: Choice) -> Verdict:
    """It could start now, but is done sooner on a set that is closer together."""
    return Verdict(
        Constraint.TOPOLOGY,
        False,
        f"within one {choice.later.level}",
        unit="",
        note="compact",
        until_s=choice.later.start_s,
        facts={
            "blocks_now": float(choice.now.blocks),
            "blocks_later": float(choice.later.blocks),
            "done_now_s": choice.now.done_s,
            "done_later_s": choice.later.done_s,
            "slowdown_now": choice.now.slowdown,
            "slowdown_later": choice.later.slowdown,
            "gpu_hours_now": choice.now.gpu_hours,
            "gpu_hours_later": choice.later.gpu_hours,
            "objective": choice.objective.value,
        },
    )
