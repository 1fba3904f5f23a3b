"""Greedy and solver together: both plan, both are checked, and the better valid plan is taken."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from cluster.scheduler.plan import Plan
from cluster.scheduler.planner import Pass, plan
from cluster.scheduler.policy import Queueing
from cluster.scheduler.solver import Solved, solve
from cluster.scheduler.validity import plan_is_valid
from cluster.scheduler.window import Problem, problems, score
from cluster.scheduler.words import Locality
from cluster.scheduler.world import World

CONFINED = (Locality.NODE, Locality.BLOCK, Locality.POD, Locality.CLUSTER)


@dataclass(frozen=True, slots=True)
class Joint:
    """The plan that was taken, and what the solver said of each GPU model that had a choice."""

    plan: Plan
    solved: tuple[tuple[str, Solved], ...] = ()
    trouble: str = ""
    """Why the solver's plan could not be used; empty if it could, or was not needed."""


def plan_jointly(
    world: World,
    *,
    explain: bool = True,
    solver: Callable[[Problem, float], Solved] = solve,
) -> Joint:
    """The better of the greedy plan and the one that follows the solver's choice. Never worse than greedy.

    A solver that fails, times out or crashes costs its time and nothing else: greedy stands.
    """
    greedy = plan(world, explain)
    limit_s = world.policy.solver_limit_s
    if limit_s <= 0 or world.policy.queueing is not Queueing.LOCKSTEP:
        return Joint(greedy)
    solved: list[tuple[str, Solved]] = []
    chosen: dict[int, int] = {}
    try:
        for problem in problems(world, greedy):
            answer = solver(problem, limit_s)
            solved.append((problem.model, answer))
            chosen |= _favoured(problem, answer)
        if not chosen:
            return Joint(greedy, tuple(solved))
        guided = replace(Pass(world, explain, favoured=chosen).run(), solver="milp")
    except Exception as error:  # whatever a solver does, there is always a plan
        return Joint(greedy, tuple(solved), f"{type(error).__name__}: {error}"[:200])
    if score(world, guided) <= score(world, greedy):
        return Joint(greedy, tuple(solved))
    if not plan_is_valid(world, guided):
        return Joint(greedy, tuple(solved), "the plan that followed the solver broke a rule")
    return Joint(guided, tuple(solved))


def _favoured(problem: Problem, answer: Solved) -> dict[int, int]:
    """job id → its turn among the chosen: the largest come first, as they are the hardest to place."""
    jobs = [
        (candidate.shape, job_id)
        for c, count in answer.counts.items()
        for candidate in (problem.candidates[c],)
        for job_id in candidate.jobs[:count]
    ]
    jobs.sort(key=lambda e: (-e[0].members[0][1], -e[0].node_count, CONFINED.index(e[0].required), e[1]))
    return {job_id: turn for turn, (_, job_id) in enumerate(jobs)}
