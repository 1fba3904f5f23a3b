"""The joint choice: better than greedy where greedy is wrong, never worse, and never without a plan."""

import pytest
from hypothesis import given, settings

from cluster.scheduler.fleet import Fleet, members_of
from cluster.scheduler.joint import plan_jointly
from cluster.scheduler.planner import plan
from cluster.scheduler.policy import Policy
from cluster.scheduler.solver import Solved, solve
from cluster.scheduler.validity import violations
from cluster.scheduler.window import problems, score
from cluster.scheduler.words import Locality, Tier
from cluster.scheduler.world import JobView, Shape, TenantView, World, queues_of
from tests.scheduler.random_worlds import worlds
from tests.scheduler.worlds import MODEL, nodes_in_blocks


def job(
    number: int, gpus: int, waited_s: float, tenant="vision", tier=Tier.RESEARCH, within=Locality.CLUSTER
):
    shape = Shape(tenant, tier, MODEL, members_of(gpus, 8), required=within)
    return JobView(number, shape, -waited_s, 3600.0)


def world(*jobs: JobView, nodes: int = 8, guarantees=None, **policy) -> World:
    tenants = {
        t: TenantView(t, None, 1.0, {MODEL: g}) for t, g in (guarantees or {"vision": 8 * nodes}).items()
    }
    fleet = Fleet(nodes_in_blocks(nodes, block=4, pod=8))
    return World(0.0, fleet, tenants, queues_of(jobs), {}, policy=Policy(**policy))


def started(joint) -> set[int]:
    return set(joint.plan.started_ids)


def test_two_gangs_that_fill_the_fleet_win_over_an_older_one_that_leaves_it_half_empty():
    # 64 GPUs: the oldest gang takes 40 and shuts both others out; together they take all 64.
    scene = world(job(1, 40, 100), job(2, 32, 90), job(3, 32, 80))
    assert set(plan(scene).started_ids) == {1}
    joint = plan_jointly(scene)
    assert started(joint) == {2, 3}
    assert joint.plan.solver == "milp"
    ((model, solved),) = joint.solved
    assert (model, solved.status, solved.objective_gpus, solved.bound_gpus) == (MODEL, "optimal", 64, 64)


def test_a_higher_tier_is_never_traded_for_more_gpus_of_a_lower_one():
    scene = world(job(1, 40, 10, tier=Tier.PRODUCTION), job(2, 32, 90), job(3, 32, 80))
    assert 1 in started(plan_jointly(scene))


def test_an_equal_choice_goes_to_those_that_have_waited_longer():
    scene = world(job(1, 16, 500), job(2, 24, 10), job(3, 24, 400), job(4, 24, 300), job(5, 24, 20))
    assert started(plan_jointly(scene)) == {1, 3, 4}


def test_gangs_that_must_stay_in_one_block_are_weighed_against_those_that_need_not():
    # Two blocks of four nodes. Greedy puts the free-roaming gang of three nodes first and breaks a block.
    roaming = job(1, 40, 100)
    confined = [job(2, 32, 90, within=Locality.BLOCK), job(3, 32, 80, within=Locality.BLOCK)]
    assert started(plan_jointly(world(roaming, *confined))) == {2, 3}


def test_entitlement_bounds_the_choice():
    scene = world(
        job(1, 40, 100),
        job(2, 32, 90),
        job(3, 32, 80),
        guarantees={"vision": 40},
        lending=False,
    )
    assert started(plan_jointly(scene)) == {1}


def test_where_there_is_no_choice_the_solver_is_not_asked():
    def never(problem, limit_s):
        raise AssertionError("asked")

    assert plan_jointly(world(job(1, 40, 100), job(2, 24, 90)), solver=never).trouble == ""
    assert plan_jointly(world(job(1, 40, 100), job(2, 72, 90)), solver=never).trouble == ""


@pytest.mark.parametrize("error", [RuntimeError("segmentation fault"), MemoryError(), ValueError("NaN")])
def test_a_crashed_solver_leaves_the_greedy_plan_and_says_so(error):
    def crash(problem, limit_s):
        raise error

    scene = world(job(1, 40, 100), job(2, 32, 90), job(3, 32, 80))
    joint = plan_jointly(scene, solver=crash)
    assert joint.plan == plan(scene)
    assert type(error).__name__ in joint.trouble


@pytest.mark.parametrize("status", ["infeasible", "failed"])
def test_a_solver_without_a_solution_leaves_the_greedy_plan(status):
    scene = world(job(1, 40, 100), job(2, 32, 90), job(3, 32, 80))
    joint = plan_jointly(scene, solver=lambda problem, limit_s: Solved(status))
    assert joint.plan == plan(scene)
    assert joint.solved[0][1].status == status


def test_a_solver_that_proposes_the_impossible_is_not_followed_into_it():
    def greedy_for_all(problem, limit_s):
        return Solved("optimal", {c: len(cand.jobs) for c, cand in enumerate(problem.candidates)})

    scene = world(job(1, 40, 100), job(2, 32, 90), job(3, 32, 80), job(4, 64, 70))
    joint = plan_jointly(scene, solver=greedy_for_all)
    assert violations(scene, joint.plan) == []
    assert score(scene, joint.plan) >= score(scene, plan(scene))


def test_without_time_there_is_no_solution_and_still_a_plan():
    scene = world(job(1, 40, 100), job(2, 32, 90), job(3, 32, 80))
    (problem,) = problems(scene, plan(scene))
    assert solve(problem, 0.0).status == "failed"
    assert started(plan_jointly(world(job(1, 40, 100), job(2, 32, 90), solver_limit_s=0.0))) == {1}


@given(worlds())
@settings(max_examples=60, deadline=None)
def test_it_is_valid_and_never_worse_than_greedy(scene):
    greedy, joint = plan(scene), plan_jointly(scene)
    assert violations(scene, joint.plan) == []
    assert score(scene, joint.plan) >= score(scene, greedy)
    assert joint.trouble == ""
    for _, solved in joint.solved:
        assert solved.bound_gpus is None or solved.objective_gpus <= solved.bound_gpus + 1e-6
