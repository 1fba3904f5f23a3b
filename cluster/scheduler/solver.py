"""The joint choice as an integer programme (PuLP; HiGHS, or CBC where HiGHS is missing).

For each candidate c (jobs of one shape) and each class k of alike blocks:
    y[c]        gangs of c that start, an integer from 0 to the jobs in the window
    z[c,m,k,f]  members of size g_m placed on nodes with f ≥ g_m GPUs free, an integer
subject to
    Σ z[c,m,·,·] = n_m · y[c]                      every member of every gang that starts is placed
    Σ g_m · z[·,m,k,f] ≤ f · nodes[k,f]            GPUs of a node class
    z[c,m,k,f] ≤ ⌊f / g_m⌋ · nodes[k,f]            a member stays on one node
    Σ gpus[c] · y[c] ≤ left[tenant]                entitlement, for each standing
and, where a gang must stay within one block or pod, y split by block class or by pod, with at most
⌊nodes / members⌋ gangs in each block. Lexicographic: for each tier in order maximise the GPUs started, and
fix them; at last maximise the time waited by what starts, concave because older jobs of a shape go first.

It is a relaxation in one respect: members that share a node class are not packed node by node. So a solution
is a proposal: the planner places it, and what does not fit falls back to its turn.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

import pulp

from cluster.scheduler.window import BlockClass, Candidate, Problem
from cluster.scheduler.words import Locality

GAP = 0.005
SOLVERS: tuple[tuple[str, dict[str, bool]], ...] = (
    ("HiGHS", {"output_flag": False}),  # `msg` alone leaves its banner
    ("PULP_CBC_CMD", {}),
    ("COIN_CMD", {}),
)
"""In order of preference; the first that is installed is used."""


@dataclass(frozen=True, slots=True)
class Solved:
    """What the solver answered. GPUs are those of the first tier that had a choice."""

    status: str
    """"optimal", "feasible" (stopped by its time limit), "infeasible" or "failed"."""
    counts: dict[int, int] = field(default_factory=dict)
    """candidate → gangs that start"""
    objective_gpus: float | None = None
    bound_gpus: float | None = None
    gap: float | None = None
    variables: int = 0
    constraints: int = 0
    seconds: float = 0.0


class _Model:
    """The programme of one problem, solved level by level."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.programme = pulp.LpProblem("joint_choice", pulp.LpMaximize)
        self.count = {c: self._integer(f"y{c}", len(cand.jobs)) for c, cand in enumerate(problem.candidates)}
        self.load: dict[tuple[int, int], list[tuple[int, pulp.LpVariable]]] = {}
        """(block class, free GPUs) → (member size, variable)"""
        for c, candidate in enumerate(problem.candidates):
            self._place(c, candidate)
        for (k, free), uses in self.load.items():
            room = free * self._nodes(k, free)
            self.programme += pulp.lpSum(gpus * z for gpus, z in uses) <= room
        for limit in problem.limits:
            together = pulp.lpSum(problem.candidates[c].shape.gpus * self.count[c] for c in limit.members)
            self.programme += together <= limit.gpus

    def _integer(self, name: str, most: float) -> pulp.LpVariable:
        return self.programme.add_variable(name, 0, most, cat="Integer")

    def _nodes(self, k: int, free: int) -> int:
        block = self.problem.blocks[k]
        return block.blocks * block.free[free]

    def _place(self, c: int, candidate: Candidate) -> None:
        """Split the gangs by where they may go, and place the members of each part."""
        parts = []
        for name, classes, most in self._domains(candidate):
            part = self._integer(f"y{c}_{name}", min(most, len(candidate.jobs)))
            parts.append(part)
            for m, (members, gpus) in enumerate(candidate.shape.members):
                placed = [z for k in classes for z in self._members(c, m, gpus, k, name)]
                self.programme += pulp.lpSum(placed) == members * part
        self.programme += pulp.lpSum(parts) == self.count[c]

    def _domains(self, candidate: Candidate) -> Iterable[tuple[str, list[int], int]]:
        """(name, block classes, most gangs) of each piece of the fleet in which the gang may stand."""
        blocks = self.problem.blocks
        every = list(range(len(blocks)))
        jobs = len(candidate.jobs)
        if candidate.shape.required is Locality.CLUSTER:
            yield "all", every, jobs
        elif candidate.shape.required is Locality.POD:
            for p, pod in enumerate(sorted({b.pod for b in blocks})):
                yield f"p{p}", [k for k in every if blocks[k].pod == pod], jobs
        else:
            for k in every:
                yield f"b{k}", [k], blocks[k].blocks * _most_in_block(candidate, blocks[k])

    def _members(self, c: int, m: int, gpus: int, k: int, part: str) -> Iterable[pulp.LpVariable]:
        free_nodes = self.problem.blocks[k].free
        for free in range(gpus, len(free_nodes)):
            if free_nodes[free]:
                z = self._integer(f"z{c}_{m}_{k}_{free}_{part}", (free // gpus) * self._nodes(k, free))
                self.load.setdefault((k, free), []).append((gpus, z))
                yield z

    def levels(self) -> list[pulp.LpAffineExpression]:
        """The objectives in order: GPUs started of each tier, then time waited."""
        candidates = self.problem.candidates
        tiers = sorted({candidate.shape.tier.rank for candidate in candidates})
        return [*(self._started(tier) for tier in tiers), self._waited()]

    def _started(self, tier: int) -> pulp.LpAffineExpression:
        """GPUs of a tier's gangs that start."""
        return pulp.lpSum(
            candidate.shape.gpus * self.count[c]
            for c, candidate in enumerate(self.problem.candidates)
            if candidate.shape.tier.rank == tier
        )

    def _waited(self) -> pulp.LpAffineExpression:
        terms = []
        for c, candidate in enumerate(self.problem.candidates):
            steps = [self.programme.add_variable(f"w{c}_{j}", 0, 1) for j in range(len(candidate.jobs))]
            self.programme += pulp.lpSum(steps) == self.count[c]
            terms += [
                s * (w + 1.0) * candidate.shape.gpus for s, w in zip(steps, candidate.waited_s, strict=True)
            ]
        return pulp.lpSum(terms)

    def counts(self) -> dict[int, int]:
        return {c: n for c, y in self.count.items() if (n := round(y.value() or 0.0)) > 0}


def _most_in_block(candidate: Candidate, block: BlockClass) -> int:
    """How many such gangs one block can hold at the most."""
    most = len(candidate.jobs)
    asked = 0
    for members, gpus in candidate.shape.members:
        asked += members
        slots = sum((free // gpus) * nodes for free, nodes in enumerate(block.free) if free >= gpus)
        most = min(most, slots // asked)
    return most


def solve(problem: Problem, time_limit_s: float) -> Solved:
    """The best joint choice found within the time limit, and how good it is known to be."""
    began = time.perf_counter()
    model = _Model(problem)
    programme = model.programme
    levels = model.levels()
    first: tuple[float, float] | None = None
    counts: dict[int, int] = {}
    status = "optimal"
    for level, objective in enumerate(levels):
        left_s = time_limit_s - (time.perf_counter() - began)
        if left_s <= 0.01:
            status = "feasible" if counts else "failed"
            break
        programme.setObjective(objective)
        done = _run(programme, left_s)
        if done is None:
            status = "feasible" if counts else "failed"
            break
        value, bound, optimal = done
        counts = model.counts()
        status = status if optimal else "feasible"
        first = first or (value, bound)
        if level < len(levels) - 1:
            programme += objective >= value - 1e-6
    return Solved(
        status,
        counts,
        objective_gpus=first[0] if first else None,
        bound_gpus=first[1] if first else None,
        gap=max(0.0, first[1] - first[0]) / max(1.0, abs(first[0])) if first else None,
        variables=len(programme.variables()),
        constraints=programme.numConstraints(),
        seconds=time.perf_counter() - began,
    )


def _run(programme: pulp.LpProblem, time_limit_s: float) -> tuple[float, float, bool] | None:
    """(value, bound, proved optimal), or None without a solution."""
    solver = _solver(time_limit_s)
    if solver is None:
        return None
    programme.solve(solver)
    if programme.status != pulp.LpStatusOptimal or programme.objective is None:
        return None
    value = float(pulp.value(programme.objective) or 0.0)
    bound, optimal = _bound(programme, value)
    return value, bound, optimal


def _solver(time_limit_s: float) -> pulp.LpSolver | None:
    for name, quiet in SOLVERS:
        solver = pulp.getSolver(name, msg=False, timeLimit=time_limit_s, gapRel=GAP, **quiet)
        if solver.available():
            return solver
    return None


def _bound(programme: pulp.LpProblem, value: float) -> tuple[float, bool]:
    """The best bound, and whether it proves the value within the gap. Only HiGHS tells."""
    info = getattr(getattr(programme, "solverModel", None), "getInfo", None)
    if info is None:
        return value, True
    found = abs(float(info().mip_dual_bound))
    return found, found - value <= GAP * max(1.0, abs(value)) + 1e-6
