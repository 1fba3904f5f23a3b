"""What the programme proves to be impossible, no plan does: its bound is the measure of every gap."""

from collections import Counter
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cluster.scheduler.planner import plan
from cluster.scheduler.solver import tier_bounds_gpus, upper_bound_gpus
from cluster.scheduler.window import problems
from cluster.scheduler.world import World
from tests.scheduler.random_worlds import needy_worlds, worlds


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.one_of(worlds(), needy_worlds()))
def test_no_plan_has_more_of_a_tier_than_its_bound(world: World):
    """Without reservations: what a firmer gang may take from a lesser one's is not in the programme."""
    world = replace(world, reservations={})
    decided = plan(world, explain=False)
    taken = {start.job_id for start in decided.starts if start.entitled} | decided.secured
    for problem in problems(world, decided, every=True):
        have: Counter[int] = Counter()
        for candidate in problem.candidates:
            have[candidate.shape.tier.rank] += candidate.shape.gpus * len(taken.intersection(candidate.jobs))
        bounds = tier_bounds_gpus(problem, have, 10.0)
        relaxed = upper_bound_gpus(problem)
        assert bounds is not None and relaxed is not None
        assert all(have[tier] <= bound + 1e-6 for tier, bound in bounds.items())
        assert have.total() <= relaxed + 1e-6
