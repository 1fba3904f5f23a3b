"""What holds for every plan of every world."""

from dataclasses import replace

from hypothesis import HealthCheck, given, settings

from cluster.scheduler.plan import Hold, Plan
from cluster.scheduler.planner import plan
from cluster.scheduler.validity import violations
from cluster.scheduler.verdict import binding, signature
from cluster.scheduler.words import PreemptionRule
from cluster.scheduler.world import World
from tests.scheduler.independent import needless_victims, targets_that_stay_empty, wrongly_refused
from tests.scheduler.random_worlds import worlds

anything = settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def holds(decided: Plan) -> list[Hold]:
    return [*decided.holds.values(), *decided.own_holds.values()]


@anything
@given(worlds())
def test_every_plan_keeps_the_rules(world: World):
    assert violations(world, plan(world)) == []


@anything
@given(worlds())
def test_every_pending_job_has_exactly_one_decision_and_a_hold_says_why(world: World):
    decided = plan(world)
    started = [start.job_id for start in decided.starts]
    assert len(started) == len(set(started))
    for job in world.pending:
        hold = decided.hold_of(job)
        assert (hold is None) == (job.id in started)
        assert hold is None or binding(hold.verdicts) is not None


@anything
@given(worlds())
def test_what_fails_is_short_of_something_and_counts_nothing_below_zero(world: World):
    for hold in holds(plan(world)):
        for verdict in hold.verdicts:
            if verdict.missing is not None:
                assert verdict.ok == (verdict.missing == 0) or verdict.note == "loan", verdict
                assert min(verdict.demand, verdict.used or 0, verdict.limit) >= 0, verdict


@anything
@given(worlds())
def test_explaining_changes_nothing(world: World):
    explained, plain = plan(world, explain=True), plan(world, explain=False)
    assert explained.starts == plain.starts
    assert explained.evictions == plain.evictions
    assert explained.reservations == plain.reservations


@anything
@given(worlds())
def test_the_same_world_gives_the_same_plan(world: World):
    assert plan(world) == plan(replace(world, runs=dict(world.runs), queues=dict(world.queues)))


@anything
@given(worlds())
def test_no_victim_is_needless_and_none_is_in_vain(world: World):
    decided = plan(world)
    assert needless_victims(world, decided) == []
    assert targets_that_stay_empty(world, decided) == []
    for eviction in decided.evictions:
        if eviction.rule is PreemptionRule.BACKFILL_RETURN:
            target = decided.reservations[eviction.for_job].target
            assert not target.keys().isdisjoint(world.runs[eviction.run_id].placement)


@anything
@given(worlds())
def test_who_is_sent_away_does_not_start_again_in_the_same_plan(world: World):
    decided = plan(world)
    gone = {world.runs[eviction.run_id].job_id for eviction in decided.evictions}
    assert gone.isdisjoint(decided.started_ids)
    assert all(eviction.level and eviction.lost_gpu_hours >= 0 for eviction in decided.evictions)


@anything
@given(worlds())
def test_nobody_within_the_guarantee_is_refused_for_quota(world: World):
    assert wrongly_refused(world, plan(world)) == []


@anything
@given(worlds())
def test_a_loan_is_only_made_to_work_that_can_be_called_back(world: World):
    decided = plan(world)
    jobs = {job.id: job.shape for job in world.pending}
    assert all(s.entitled or jobs[s.job_id].standing > 0 for s in decided.starts)
    if not (world.policy.lending and world.policy.quotas):
        assert all(s.entitled for s in decided.starts)


@anything
@given(worlds())
def test_equal_shapes_share_one_hold(world: World):
    decided = plan(world)
    for queue in world.queues.values():
        shared = {id(decided.hold_of(job)) for job in queue if job.id not in decided.own_holds}
        shared.discard(id(None))
        assert len(shared) <= 1


@anything
@given(worlds())
def test_while_nothing_changes_no_reason_does(world: World):
    """Reservations that the first plans make may give new rights; once nothing happens any more, all stay."""
    decided = plan(world)
    for _ in range(4):
        if decided.starts or decided.evictions:
            return
        world = replace(world, reservations=decided.reservations)
        before, decided = decided, plan(world)
    if not decided.starts and not decided.evictions:
        for job in world.pending:
            then, now = before.hold_of(job), decided.hold_of(job)
            assert then is not None and now is not None
            assert signature(then.verdicts) == signature(now.verdicts)
        assert before.reservations == decided.reservations
