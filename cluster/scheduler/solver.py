"""The joint choice as an integer programme (PuLP; HiGHS, or CBC where HiGHS is missing).

For each candidate c (jobs of one shape), home h (a class of alike blocks, a pod, or the whole), node class q,
kind of slot k (GPUs, draw, dataset) and run r that may give way:
    y[c,h]   gangs of c that get their set within h, an integer from 0 to the jobs in the window
    s[q,k]   slots of kind k on the nodes of q, an integer
    v[r]     1 if r gives way
subject to
    Σ gpus[k] · s[q,k] ≤ nodes[q] · (free[q] + Σ gpus[r,q] · v[r])     GPUs of a node class
    s[q,k] ≤ nodes[q] · (slots without r's GPUs + more slots · v[r])   a member stays on one node
    Σ members[c,k] · y[c,h] over h within d ≤ Σ s[q,k] over q in d     for each block class, pod, the whole
    Σ gpus[c] · y[c,·] ≤ left[tenant]                                  entitlement, for each standing; the
                                                                       firmer count if any of it start
    Σ share · draw · s ≤ left[power limit] + Σ freed · v               power and cooling, in every state
    v[r] ≤ Σ y[c,·] over the c that may send r away
    Σ gpus[c] · y[c,·] ≤ free + Σ gpus[r] · v[r] over the r that a group c may send away
Domains are nested, so demand within each of them against its slots is all there is to placing (Hall). Equal
jobs, nodes and blocks are counted, not told apart, so that there is no symmetry to search through; the size
is linear in candidates × homes and in classes × kinds of slot.

Lexicographic: for each tier in order maximise the GPUs started or secured, and fix them; then the time waited
by them, concave because older jobs of a shape go first; then minimise the guaranteed GPUs preempted, the work
lost, and last the spread and the fragments left behind.

It is a relaxation in two respects: members of one gang are not kept on distinct nodes, and victims are shared
by all that may send any of them away. So a solution is a proposal: the planner places it.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import pulp

from cluster.scheduler.quiet import hush_solver
from cluster.scheduler.window import BlockClass, Candidate, NodeClass, Problem, Slot
from cluster.scheduler.words import Locality

hush_solver()

GAP = 0.005
LEAST_GAIN = 1e-4
"""Relative; what is less is equal."""
MOST_HOMES = 4000
"""Up to so many (candidate, home) pairs a gang may also be given a home closer than it requires."""
SOLVERS = ("HiGHS", "PULP_CBC_CMD", "COIN_CMD")
"""In order of preference; the first that is installed is used."""

Home = tuple[str, int]
""""block" with the number of a block class, "pod" with the number of a pod, or "cluster" with 0"""


@dataclass(frozen=True, slots=True)
class Solved:
    """What the solver answered. GPUs are those of the first tier that had a choice."""

    status: str
    """"optimal", "feasible" (stopped by its time limit), "infeasible" or "failed"."""
    counts: dict[int, int] = field(default_factory=dict)
    """candidate → gangs that start"""
    homes: dict[int, list[tuple[Home, int]]] = field(default_factory=dict)
    """candidate → (home, gangs)"""
    victims: frozenset[int] = frozenset()
    better: bool = True
    """whether it betters what greedy has"""
    objective_gpus: float | None = None
    bound_gpus: float | None = None
    gap: float | None = None
    variables: int = 0
    constraints: int = 0
    seconds: float = 0.0


class _Model:
    """The programme of one problem, solved level by level."""

    def __init__(self, problem: Problem, relaxed: bool = False) -> None:
        self.problem = problem
        self.category = "Continuous" if relaxed else "Integer"
        self.programme = pulp.LpProblem("joint_choice", pulp.LpMaximize)
        self.pods = sorted({block.pod for block in problem.blocks})
        self.kinds = sorted({slot for c in problem.candidates for _, slot in c.slots()})
        self.gives_way = {r: self._variable(f"v{r}", 1) for r in problem.victims}
        self.slots = {
            (b, q, k): self._slot(b, q, node_class, k, kind)
            for b, block in enumerate(problem.blocks)
            for q, node_class in enumerate(block.classes)
            for k, kind in enumerate(self.kinds)
            if _fit(node_class, kind)
        }
        self.choice_levels = 0
        """how many of the levels decide which gangs start"""
        self.homes: dict[int, dict[Home, pulp.LpVariable]] = {}
        self.count: dict[int, pulp.LpVariable] = {}
        """candidate → gangs that start"""
        for c, candidate in enumerate(problem.candidates):
            self._settle(c, candidate)
        self._node_rows()
        self._domain_rows()
        self._entitlement_rows()
        self._power_rows()
        self._victim_rows()

    def _variable(self, name: str, most: float) -> pulp.LpVariable:
        return self.programme.add_variable(name, 0, most, cat=self.category)

    def _slot(self, b: int, q: int, node_class: NodeClass, k: int, kind: Slot) -> pulp.LpVariable:
        most = len(self.problem.blocks[b].blocks) * node_class.nodes * _fit(node_class, kind)
        return self._variable(f"s{b}_{q}_{k}", most)

    # the rows

    def _settle(self, c: int, candidate: Candidate) -> None:
        """The homes that a candidate's gangs may be given."""
        jobs = len(candidate.jobs)
        homes: dict[Home, pulp.LpVariable] = {}
        for home, most in self._homes(candidate):
            if most > 0:
                homes[home] = self._variable(f"y{c}_{home[0]}{home[1]}", min(most, jobs))
        self.homes[c] = homes
        self.count[c] = self._variable(f"y{c}", jobs)
        self.programme += pulp.lpSum(homes.values()) == self.count[c]

    def _homes(self, candidate: Candidate) -> Iterator[tuple[Home, int]]:
        problem, shape = self.problem, candidate.shape
        pairs = len(problem.candidates) * (len(problem.blocks) + len(self.pods))
        closer = pairs <= MOST_HOMES
        single = shape.node_count == 1
        if single or shape.required is Locality.CLUSTER:
            yield ("cluster", 0), len(candidate.jobs)
        if single or shape.required is Locality.NODE:
            return
        if shape.required is Locality.POD or (closer and shape.required is Locality.CLUSTER):
            yield from ((("pod", p), len(candidate.jobs)) for p in range(len(self.pods)))
        if shape.required is Locality.BLOCK or closer:
            for b, block in enumerate(problem.blocks):
                yield ("block", b), len(block.blocks) * _most_in_block(candidate, block)

    def _node_rows(self) -> None:
        """GPUs of a class of nodes: what is free, and what those that give way free."""
        for b, block in enumerate(self.problem.blocks):
            for q, cls in enumerate(block.classes):
                nodes = len(block.blocks) * cls.nodes
                used = [
                    kind[0] * self.slots[b, q, k]
                    for k, kind in enumerate(self.kinds)
                    if (b, q, k) in self.slots
                ]
                if not used:
                    continue
                freed = [nodes * gpus * self.gives_way[r] for r, gpus in cls.victims]
                self.programme += pulp.lpSum(used) - pulp.lpSum(freed) <= nodes * cls.free
                self._whole_slots(b, q, cls, nodes)

    def _whole_slots(self, b: int, q: int, cls: NodeClass, nodes: int) -> None:
        """A member stays on one node: GPUs left over on several nodes make no slot."""
        for k, kind in enumerate(self.kinds):
            if (b, q, k) not in self.slots:
                continue
            most = cls.most_free // kind[0]
            for run_id, gpus in cls.victims:
                without = (cls.most_free - gpus) // kind[0]
                if without < most:
                    more = nodes * (most - without) * self.gives_way[run_id]
                    self.programme += self.slots[b, q, k] - more <= nodes * without

    def _domain_rows(self) -> None:
        """Within each block class, each pod and the whole: no more members than slots."""
        blocks = list(range(len(self.problem.blocks)))
        by_pod = [[b for b in blocks if self.problem.blocks[b].pod == pod] for pod in self.pods]
        homes_of_pod = [{("pod", p), *(("block", b) for b in inside)} for p, inside in enumerate(by_pod)]
        demand: dict[tuple[Home, int], list[pulp.LpAffineExpression]] = {}
        number = {kind: k for k, kind in enumerate(self.kinds)}
        for c, candidate in enumerate(self.problem.candidates):
            for home, y in self.homes[c].items():
                for members, kind in candidate.slots():
                    demand.setdefault((home, number[kind]), []).append(members * y)
        every_home = {home for home, _ in demand}
        for k in range(len(self.kinds)):
            self._at_most(demand, every_home, k, blocks)
            for p, inside in enumerate(by_pod):
                if ("pod", p) in every_home:
                    self._at_most(demand, homes_of_pod[p], k, inside)
            for b in blocks:
                self._at_most(demand, {("block", b)}, k, [b])

    def _at_most(
        self,
        demand: Mapping[tuple[Home, int], list[pulp.LpAffineExpression]],
        homes: Iterable[Home],
        k: int,
        blocks: Iterable[int],
    ) -> None:
        asked = [term for home in homes for term in demand.get((home, k), ())]
        if asked:
            there = [
                self.slots[b, q, k]
                for b in blocks
                for q in range(len(self.problem.blocks[b].classes))
                if (b, q, k) in self.slots
            ]
            self.programme += pulp.lpSum(asked) <= pulp.lpSum(there)

    def _entitlement_rows(self) -> None:
        for number, limit in enumerate(self.problem.limits):
            own, firmer = (
                pulp.lpSum(self.problem.candidates[c].shape.gpus * self.count[c] for c in group)
                for group in (limit.members, limit.firmer)
            )
            if not limit.firmer:
                self.programme += own <= limit.gpus
                continue
            any_starts = self._variable(f"e{number}", 1)
            self.programme += own <= limit.gpus * any_starts
            self.programme += own + firmer <= limit.most - (limit.most - limit.gpus) * any_starts

    def _power_rows(self) -> None:
        drawn: dict[int, list[pulp.LpAffineExpression]] = {}
        for (b, q, k), slot in self.slots.items():
            gpus, draw_w, _ = self.kinds[k]
            for limit, share in self.problem.blocks[b].classes[q].limits if draw_w else ():
                drawn.setdefault(limit, []).append(share * gpus * draw_w * slot)
        for limit, used in drawn.items():
            freed = [
                victim.frees_w[limit] * self.gives_way[r]
                for r, victim in self.problem.victims.items()
                if limit in victim.frees_w
            ]
            left = self.problem.power_w[limit]
            if left >= 0:
                self.programme += pulp.lpSum(used) - pulp.lpSum(freed) <= left
                continue
            # It is exceeded as it is: who starts there must first make good what is too much.
            most = sum(victim.frees_w.get(limit, 0.0) for victim in self.problem.victims.values())
            any_starts = self._variable(f"p{limit}", 1)
            self.programme += pulp.lpSum(used) <= max(0.0, most + left) * any_starts
            self.programme += pulp.lpSum(used) - pulp.lpSum(freed) <= left * any_starts

    def _victim_rows(self) -> None:
        """Nobody gives way for those who may not ask for it."""
        askers: dict[frozenset[int], list[int]] = {}
        for c, candidate in enumerate(self.problem.candidates):
            askers.setdefault(candidate.victims, []).append(c)
        asking: dict[frozenset[int], pulp.LpVariable] = {}
        for number, (victims, group) in enumerate(askers.items()):
            together = asking[victims] = self.programme.add_variable(f"a{number}", 0)
            self.programme += pulp.lpSum(self.count[c] for c in group) == together
        for r, variable in self.gives_way.items():
            may = [together for victims, together in asking.items() if r in victims]
            self.programme += variable <= pulp.lpSum(may)
        self._right_rows(askers)

    def _right_rows(self, askers: Mapping[frozenset[int], list[int]]) -> None:
        """What those free whom a group may not send away is not for that group."""
        free = sum(len(b.blocks) * q.nodes * q.free for b in self.problem.blocks for q in b.classes)
        for victims in askers:
            if len(victims) == len(self.problem.victims):
                continue
            group = [c for others, them in askers.items() if others <= victims for c in them]
            asked = [self.problem.candidates[c].shape.gpus * self.count[c] for c in group]
            freed = [self.problem.victims[r].gpus * self.gives_way[r] for r in victims if r in self.gives_way]
            self.programme += pulp.lpSum(asked) - pulp.lpSum(freed) <= free

    # the objectives

    def levels(self) -> list[pulp.LpAffineExpression]:
        """The objectives in order, each to be maximised."""
        tiers = sorted({candidate.shape.tier.rank for candidate in self.problem.candidates})
        found = [self.started(tier) for tier in tiers] + [self._waited()]
        self.choice_levels = len(found)
        if self.gives_way:
            found += [self._preempted(), self._lost()]
        return [*found, self._compact()]

    def started(self, tier: int | None = None) -> pulp.LpAffineExpression:
        """GPUs of a tier's gangs that start or are secured; of all tiers."""
        return pulp.lpSum(
            candidate.shape.gpus * self.count[c]
            for c, candidate in enumerate(self.problem.candidates)
            if tier is None or candidate.shape.tier.rank == tier
        )

    def _waited(self) -> pulp.LpAffineExpression:
        terms = []
        for c, candidate in enumerate(self.problem.candidates):
            steps = [self.programme.add_variable(f"w{c}_{j}", 0, 1) for j in range(len(candidate.jobs))]
            self.programme += pulp.lpSum(steps) == self.count[c]
            terms += [
                s * (w + 1.0) * candidate.shape.gpus / 3600.0
                for s, w in zip(steps, candidate.waited_s, strict=True)
            ]
        return pulp.lpSum(terms)

    def _preempted(self) -> pulp.LpAffineExpression:
        """Guaranteed GPUs that give way, the harder tier counted twice; negative."""
        victims = self.problem.victims
        return pulp.lpSum(
            -victims[r].gpus * (1 + victims[r].hardness) * v
            for r, v in self.gives_way.items()
            if victims[r].kind >= 2
        )

    def _lost(self) -> pulp.LpAffineExpression:
        """GPU-hours lost by those that give way, and a little for each of them; negative."""
        victims = self.problem.victims
        return pulp.lpSum(-(victims[r].lost_gpu_hours + 1e-3) * v for r, v in self.gives_way.items())

    def _compact(self) -> pulp.LpAffineExpression:
        """GPUs at home in a pod or the whole, not a block; then GPUs left over beside slots; negative."""
        farther = {"block": 0, "pod": 1, "cluster": 2}
        spread = [
            -10.0 * farther[home[0]] * candidate.shape.gpus * y
            for c, candidate in enumerate(self.problem.candidates)
            if candidate.shape.node_count > 1
            for home, y in self.homes[c].items()
        ]
        fragments = [
            -0.01 * (self.problem.blocks[b].classes[q].free % self.kinds[k][0]) * slot
            for (b, q, k), slot in self.slots.items()
        ]
        return pulp.lpSum(spread) + pulp.lpSum(fragments)

    def fix_counts(self) -> None:
        """From now on it is settled which gangs start: what is left is where, and who gives way."""
        for count in self.count.values():
            value = _whole(count)
            count.bounds(value, value)

    # the answer

    def counts(self) -> dict[int, int]:
        return {c: n for c, homes in self.homes.items() if (n := sum(_whole(y) for y in homes.values())) > 0}

    def settled(self) -> dict[int, list[tuple[Home, int]]]:
        return {
            c: [(home, _whole(y)) for home, y in homes.items() if _whole(y)]
            for c, homes in self.homes.items()
        }

    def victims(self) -> frozenset[int]:
        return frozenset(r for r, v in self.gives_way.items() if _whole(v))


def _whole(variable: pulp.LpVariable) -> int:
    return round(variable.value() or 0.0)


def _fit(cls: NodeClass, kind: Slot) -> int:
    """How many such members one node of the class could take at the most."""
    return 0 if kind[2] in cls.full_for else cls.most_free // kind[0]


def _most_in_block(candidate: Candidate, block: BlockClass) -> int:
    """How many such gangs one block can hold at the most."""
    most = len(candidate.jobs)
    asked = 0
    for members, kind in candidate.slots():
        asked += members
        most = min(most, sum(_fit(cls, kind) * cls.nodes for cls in block.classes) // asked)
    return most


def solve(problem: Problem, time_limit_s: float) -> Solved:
    """The best joint choice found within the time limit, and how good it is known to be.

    It ends as soon as it is clear that it cannot better what greedy has: equal in all that comes first and
    no better at the end, or short of it because greedy counts on what the programme does not see.
    """
    began = time.perf_counter()
    model = _Model(problem)
    programme, levels = model.programme, model.levels()
    found = Solved("optimal", better=False)
    first: tuple[float, float] | None = None
    for level, objective in enumerate(levels):
        left_s = time_limit_s - (time.perf_counter() - began)
        programme.setObjective(objective)
        done = _run(programme, left_s) if left_s > 0.01 else None
        if done is None:
            found = replace(found, status="feasible" if found.counts else "failed")
            break
        value, bound, optimal = done
        first = first or (value, bound)
        found = replace(
            found,
            status=found.status if optimal else "feasible",
            counts=model.counts(),
            homes=model.settled(),
            victims=model.victims(),
        )
        if not found.better and level < len(problem.greedy):
            gain = value - problem.greedy[level]
            worth = LEAST_GAIN * max(1.0, abs(value))
            if gain < -worth:
                break
            found = replace(found, better=gain > worth)
        if not found.better and level >= len(problem.greedy) - 1:
            break
        if level == model.choice_levels - 1:
            model.fix_counts()
        elif level < len(levels) - 1:
            programme += objective >= value - 1e-6 * max(1.0, abs(value))
    return replace(
        found,
        objective_gpus=first[0] if first else None,
        bound_gpus=first[1] if first else None,
        gap=max(0.0, first[1] - first[0]) / max(1.0, abs(first[0])) if first else None,
        variables=len(programme.variables()),
        constraints=programme.numConstraints(),
        seconds=time.perf_counter() - began,
    )


def upper_bound_gpus(problem: Problem, time_limit_s: float = 60.0) -> float | None:
    """GPUs that no plan can exceed, all tiers together: the programme without whole numbers (LP bound)."""
    model = _Model(problem, relaxed=True)
    model.programme.setObjective(model.started())
    done = _run(model.programme, time_limit_s)
    return None if done is None else done[0]


def tier_bounds_gpus(
    problem: Problem, have: Mapping[int, float], time_limit_s: float = 60.0
) -> dict[int, float] | None:
    """Tier's rank → GPUs of it that no plan can exceed which has no less of the firmer tiers than `have`.

    The bound that branch and bound proves within the time limit, each tier in turn; None if there is none.
    """
    model = _Model(problem)
    found: dict[int, float] = {}
    for tier in sorted({candidate.shape.tier.rank for candidate in problem.candidates}):
        started = model.started(tier)
        model.programme.setObjective(started)
        done = _run(model.programme, time_limit_s)
        if done is None:
            return None
        found[tier] = max(done[1], done[0])
        model.programme += started >= min(have.get(tier, 0.0), done[0]) - 1e-6
    return found


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
    for name in SOLVERS:
        solver = pulp.getSolver(name, msg=False, timeLimit=time_limit_s, gapRel=GAP)
        if solver.available():
            return solver
    return None


def _bound(programme: pulp.LpProblem, value: float) -> tuple[float, bool]:
    """The best bound, and whether it proves the value within the gap. Only HiGHS tells."""
    info = getattr(getattr(programme, "solverModel", None), "getInfo", None)
    if info is None or not any(v.cat == "Integer" for v in programme.variables()):
        return value, True
    found = float(info().mip_dual_bound)
    found = -found if found * value < 0 else found
    return found, abs(found - value) <= GAP * max(1.0, abs(value)) + 1e-6
