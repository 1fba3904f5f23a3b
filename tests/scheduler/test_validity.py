"""The independent checker finds each kind of broken plan; a valid one passes."""

from dataclasses import replace

import pytest

from cluster.scheduler.plan import Eviction, Hold, Plan, Start
from cluster.scheduler.planner import plan
from cluster.scheduler.validity import plan_is_valid, violations
from cluster.scheduler.verdict import Verdict
from cluster.scheduler.words import Constraint, PreemptionRule
from cluster.scheduler.world import ReservationView
from tests.scheduler.worlds import Gang, Story


class Scene:
    """Two nodes of eight, one taken by a loan; a gang of two members waits, and one that is on hold."""

    def __init__(self) -> None:
        self.story = Story(nodes=2, block=1)
        owner, guest = self.story.tenant("owner", guarantee=16), self.story.tenant("guest")
        self.loan = self.story.running(guest, gpus=8, on=["n0"], tier="best_effort")
        self.gang = self.story.submit(owner, gpus=8, members=((2, 4),), tier="production")
        self.held = self.story.submit(owner, gpus=1)
        self.story.hold(self.held, "asked")
        self.world = self.story.snapshot()
        self.valid = plan(self.world)

    def broken(self, **changes) -> list[str]:
        return violations(self.world, replace(self.valid, **changes))

    def start(self, placement: dict[int, int], gang: Gang | None = None) -> list[str]:
        """What is said of a plan that starts a gang there and does nothing else for it."""
        job_id = (gang or self.gang).id
        others = {k: v for k, v in self.valid.reservations.items() if k != job_id}
        return self.broken(
            starts=(Start(job_id, placement, entitled=True),), evictions=(), reservations=others
        )


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_what_the_planner_makes_is_valid(scene: Scene):
    assert plan_is_valid(scene.world, scene.valid)
    assert [e.run_id for e in scene.valid.evictions] == [scene.loan.run.id]


@pytest.mark.parametrize(
    ("placement", "says"),
    [
        ({1: 4}, "asked for"),
        ({0: 4, 1: 4}, "8 held + 4 started > 8"),
        ({1: 8}, "asked for"),
    ],
)
def test_partial_gangs_and_gpus_given_twice(scene: Scene, placement, says):
    assert any(says in said for said in scene.start(placement))


def test_a_job_started_twice_or_unknown_or_set_aside(scene: Scene):
    start = Start(scene.gang.id, {0: 4, 1: 4}, entitled=True)
    assert any("is started 2 times" in said for said in scene.broken(starts=(start, start)))
    assert any("not pending" in said for said in scene.broken(starts=(replace(start, job_id=99),)))
    assert any("although set aside" in said for said in scene.start({1: 1}, scene.held))


def test_a_job_without_any_decision_or_a_hold_without_a_reason(scene: Scene):
    assert any("neither started nor held" in said for said in scene.broken(holds={}, own_holds={}))
    passing = Hold(scene.gang.work.shape, (Verdict(Constraint.QUOTA, True, "tenant owner"),))
    assert any("no failing verdict" in said for said in scene.broken(own_holds={scene.gang.id: passing}))


def test_a_start_on_the_wrong_model_out_of_service_or_too_far_apart():
    scene = Scene()
    scene.story.drain("n1")
    scene.world = scene.story.snapshot()
    assert any("takes no work" in said for said in scene.start({1: 4}))

    story = Story(nodes=2, block=1)
    lab = story.tenant("lab", guarantee=16)
    gang = story.submit(lab, gpus=8, members=((2, 4),), within="block")
    world = story.snapshot()
    apart = Plan(starts=(Start(gang.id, {0: 4, 1: 4}, entitled=True),))
    assert any("requires one block and is spread over 2" in said for said in violations(world, apart))


def test_firm_work_beyond_the_guarantee(scene: Scene):
    poor = scene.story.tenant("poor", guarantee=4)
    gang = scene.story.submit(poor, gpus=8, tier="production")
    scene.world = scene.story.snapshot()
    assert any("cannot be called back, entitled to 4" in said for said in scene.start({1: 8}, gang))


def test_victims_without_need_right_or_purpose(scene: Scene):
    eviction = scene.valid.evictions[0]
    assert any("2 times" in said for said in scene.broken(evictions=(eviction, eviction)))
    assert any("does not run" in said for said in scene.broken(evictions=(replace(eviction, run_id=99),)))
    assert any("does not wait for its GPUs" in said for said in scene.broken(reservations={}))
    wrong = replace(eviction, rule=PreemptionRule.BACKFILL_RETURN)
    assert any("as backfill but is none" in said for said in scene.broken(evictions=(wrong,)))


def test_a_tier_does_not_preempt_its_equal_and_nobody_preempts_production():
    story = Story(nodes=1)
    lab = story.tenant("lab", guarantee=16)
    equal = story.running(lab, gpus=8, tier="production")
    gang = story.submit(lab, gpus=8, tier="production")
    world = story.snapshot()
    kept = {gang.id: ReservationView(gang.view, {0: 8}, 0.0, 60.0)}
    sent = Eviction(equal.run.id, gang.id, PreemptionRule.TIER, "tenant lab", 0.0)
    said = violations(world, replace(plan(world), evictions=(sent,), reservations=kept))
    assert any("may not be preempted" in s for s in said) and any("preempted by tier" in s for s in said)
    reclaim = replace(sent, rule=PreemptionRule.RECLAIM)
    said = violations(world, replace(plan(world), evictions=(reclaim,), reservations=kept))
    assert any("has nothing on loan" in s for s in said)


def test_a_reservation_for_nobody_or_of_the_wrong_size(scene: Scene):
    reservation = scene.valid.reservations[scene.gang.id]
    foreign = {**scene.valid.reservations, 99: reservation}
    assert any("which does not wait" in said for said in scene.broken(reservations=foreign))
    small = {scene.gang.id: replace(reservation, target={1: 4})}
    assert any("gathers [4], not [4, 4]" in said for said in scene.broken(reservations=small))
