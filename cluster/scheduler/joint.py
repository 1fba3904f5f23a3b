"""Greedy and solver together: both plan, both are checked, and the better valid plan is taken."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from cluster.scheduler.plan import Plan
from cluster.scheduler.planner import Pass, Proposal
from cluster.scheduler.policy import Queueing
from cluster.scheduler.solver import Home, Solved, solve
from cluster.scheduler.validity import violations
from cluster.scheduler.window import Problem, problems, score
from cluster.scheduler.world import World

HOMES = ("block", "pod", "cluster")


@dataclass(frozen=True, slots=True)
class Joint:
    """The plan that was taken, and what the solver said of each GPU model that had a choice."""

    plan: Plan
    solved: tuple[tuple[str, Solved], ...] = ()
    trouble: str = ""
    """Why the solver's plan could not be used; empty if it could, or was not needed."""

    def as_json(self) -> list[dict[str, Any]]:
        """What is kept with the tick, for each GPU model."""
        return [
            {
                "model": model,
                "status": solved.status,
                "objective_gpus": solved.objective_gpus,
                "bound_gpus": solved.bound_gpus,
                "gap": solved.gap,
                "variables": solved.variables,
                "constraints": solved.constraints,
                "seconds": round(solved.seconds, 4),
                "victims": len(solved.victims),
                "taken": self.plan.solver == "milp",
            }
            for model, solved in self.solved
        ]


def plan_jointly(
    world: World,
    *,
    explain: bool = True,
    solver: Callable[[Problem, float], Solved] = solve,
) -> Joint:
    """The better of the greedy plan and the one that follows the solver's choice. Never worse than greedy.

    A solver that fails, times out or crashes costs its time and nothing else: greedy stands.
    """
    greedy_pass = Pass(world)
    greedy = greedy_pass.run(explain=False)
    limit_s = world.policy.solver_limit_s
    solved: list[tuple[str, Solved]] = []
    proposals: dict[int, Proposal] = {}
    victims: set[int] = set()
    trouble = ""
    taken, best_pass = greedy, greedy_pass
    try:
        wanted = limit_s > 0 and world.policy.queueing is Queueing.LOCKSTEP
        for problem in problems(world, greedy) if wanted else ():
            answer = solver(problem, limit_s)
            solved.append((problem.model, answer))
            if answer.better:
                proposals |= proposed(problem, answer)
                victims |= answer.victims
        if proposals:
            guided_pass = Pass(world, proposals, frozenset(victims))
            guided = guided_pass.run(explain=False)
            if score(world, guided) > score(world, greedy):
                broken = violations(world, guided)
                trouble = f"the plan that followed the solver broke a rule: {broken[0]}" if broken else ""
                if not broken:
                    taken, best_pass = guided, guided_pass
    except Exception as error:  # whatever a solver does, there is always a plan
        trouble = f"{type(error).__name__}: {error}"
        taken, best_pass = greedy, greedy_pass
    if explain:
        taken = best_pass.freeze(explain=True)
    by = "milp" if best_pass is not greedy_pass else "greedy"
    return Joint(replace(taken, solver=by), tuple(solved), trouble[:200])


def proposed(problem: Problem, answer: Solved) -> dict[int, Proposal]:
    """job id → what the solver proposes for it: whose turn is first, and in which blocks its set is.

    The closest homes come first, as they are the hardest to come by, and in them the largest gangs.
    """
    found: list[tuple[tuple[object, ...], int, frozenset[int] | None]] = []
    for c, homes in answer.homes.items():
        candidate = problem.candidates[c]
        jobs = iter(candidate.jobs)
        members = candidate.shape.members[0][1]
        for home, count in sorted(homes, key=lambda e: (HOMES.index(e[0][0]), e[0][1])):
            key = (HOMES.index(home[0]), -members, -candidate.shape.node_count)
            for _, job_id in zip(range(count), jobs, strict=False):
                found.append(((*key, job_id), job_id, _blocks(problem, home)))
    found.sort(key=lambda e: e[0])
    return {job_id: Proposal(turn, blocks) for turn, (_, job_id, blocks) in enumerate(found)}


def _blocks(problem: Problem, home: Home) -> frozenset[int] | None:
    level, number = home
    if level == "cluster":
        return None
    if level == "block":
        return frozenset(problem.blocks[number].blocks)
    pod = sorted({block.pod for block in problem.blocks})[number]
    return frozenset(b for block in problem.blocks if block.pod == pod for b in block.blocks)
