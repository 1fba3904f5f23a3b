"""What would unblock a job: every kind of hint, each true when the world is changed as it says."""

from dataclasses import replace

from hypothesis import HealthCheck, given, settings

from cluster.scheduler import unblock as hints
from cluster.scheduler.explain import hint_text
from cluster.scheduler.planner import plan
from cluster.scheduler.unblock import MOST_HINTS, unblock
from cluster.scheduler.verdict import binding
from cluster.scheduler.words import Constraint, Tier
from cluster.scheduler.world import JobView, World, queues_of
from tests.scheduler.random_worlds import worlds
from tests.scheduler.worlds import HOUR, Gang, Story, clock

FIRM = {"tier": "production"}


def told(gang: Gang) -> dict[str, str]:
    """kind → sentence"""
    found = gang.hints
    assert len({hint.kind for hint in found}) == len(found) <= MOST_HINTS
    return {hint.kind: hint_text(hint.kind, hint.data, clock) for hint in found}


def hint(gang: Gang, kind: str) -> dict:
    return dict(next(h.data for h in gang.hints if h.kind == kind))


def test_a_hold_is_to_be_released(world: Story):
    gang = world.submit(world.tenant("lab", guarantee=64))
    world.hold(gang, "asked by its owner")
    world.tick()
    assert gang.why is Constraint.ADMIN_HOLD and "asked by its owner" in gang.says
    assert told(gang) == {"release": "Release the hold: it starts at the next tick."}


def test_a_start_time_is_to_be_waited_for(world: Story):
    gang = world.submit(world.tenant("lab", guarantee=64))
    world.delay(gang, until_s=600.0, why="backoff")
    world.tick()
    assert gang.why is Constraint.START_TIME
    assert told(gang) == {"wait": "Wait: it starts at minute 10."}


def test_firm_work_beyond_the_guarantee_may_be_handed_in_as_preemptible_or_smaller(world: Story):
    world.tenant("owner", guarantee=40)
    lab = world.tenant("lab", guarantee=24)
    world.running(lab, gpus=8, lasts_s=HOUR, **FIRM)
    gang = world.submit(lab, gpus=24, **FIRM)
    world.tick()
    assert gang.why is Constraint.QUOTA
    assert told(gang) == {
        "preemptible": "Submit it as preemptible research: it starts now, on loan.",
        "entitlement": "Raise the guarantee of lab for h100 from 24 to 32 GPUs: it starts now.",
        "smaller": "Ask for 16 GPUs: a gang of that size starts now.",
    }


def test_a_tenants_own_runs_may_have_to_end(world: Story):
    lab = world.tenant("lab", guarantee=8, borrows=0)
    running = world.running(lab, gpus=8, lasts_s=HOUR, **FIRM)
    gang = world.submit(lab, gpus=8, **FIRM)
    world.tick()
    own = hint(gang, "runs_end")
    assert own == {"jobs": [running.id], "until_s": HOUR, "gpus": 8, "in_s": 0.0}
    assert told(gang)["runs_end"] == f"When 1 run has ended (expected minute 60): job {running.id}."


def test_the_runs_that_end_first_and_no_more_than_it_takes(world: Story):
    lab = world.tenant("lab", guarantee=640)
    runs = [world.running(lab, gpus=8, lasts_s=HOUR * (8 - i), **FIRM) for i in range(8)]
    gang = world.submit(lab, gpus=16, **FIRM)
    world.tick()
    assert gang.why is Constraint.GANG_SIZE
    assert sorted(hint(gang, "runs_end")["jobs"]) == [runs[6].id, runs[7].id]
    assert hint(gang, "runs_end")["until_s"] == 2 * HOUR


def test_a_wider_locality_may_do(world: Story):
    lab = world.tenant("lab", guarantee=64)
    for node in ("n0", "n2", "n4", "n6"):
        world.running(lab, gpus=8, on=[node], **FIRM)
    gang = world.submit(lab, gpus=16, within="block", **FIRM)
    world.tick()
    assert gang.why is Constraint.TOPOLOGY
    assert told(gang)["topology"] == "Allow it to spread over one pod: it starts now."


def test_what_can_never_run_may_in_another_shape(world: Story):
    lab = world.tenant("lab", guarantee=64)
    gang = world.submit(lab, gpus=24, within="block", **FIRM)
    world.tick()
    assert gang.why is Constraint.NEVER_FITS
    assert set(told(gang)) == {"topology", "smaller"}


def test_only_the_nodes_that_matter_are_to_come_back():
    world = Story(nodes=6, block=2, pod=6)
    lab = world.tenant("lab", guarantee=48)
    world.drain("n0", "n2", "n5")
    world.running(lab, gpus=8, on=["n1"], **FIRM)
    world.running(lab, gpus=8, on=["n3"], **FIRM)
    gang = world.submit(lab, gpus=16, within="block", **FIRM)
    world.tick()
    assert gang.why is Constraint.NODE_HEALTH
    assert hint(gang, "nodes_back")["nodes"] == ["n5"]
    assert told(gang)["nodes_back"] == "When n5 takes work again."


def test_a_higher_tier_may_send_others_away_and_is_told_how_long_that_takes(world: Story):
    lab = world.tenant("lab", guarantee=64)
    world.running(lab, gpus=64, tier="best_effort", since_s=60, grace_s=90)
    gang = world.submit(lab, gpus=8, tier="best_effort", age_s=10)
    world.tick()
    assert told(gang)["tier"] == (
        "Submit it as research: it starts within 90 s, when the runs it sends away have left."
    )


def test_a_larger_guarantee_may_call_loans_back(world: Story):
    lab, guest = world.tenant("lab", guarantee=8, borrows=0), world.tenant("guest")
    world.running(lab, gpus=8, **FIRM)
    world.running(guest, gpus=56, tier="best_effort", grace_s=120)
    gang = world.submit(lab, gpus=8)
    world.tick()
    assert gang.why is Constraint.QUOTA
    assert hint(gang, "entitlement")["to_gpus"] == 16
    assert "it starts within 120 s" in told(gang)["entitlement"]


def test_a_higher_tier_that_takes_from_a_lesser_reservation_is_told():
    world = Story(nodes=2, reserve_after_s=0.0)
    lab = world.tenant("lab", guarantee=64)
    world.running(lab, gpus=8, lasts_s=HOUR, **FIRM)
    ahead = world.submit(lab, gpus=16, tier="research", age_s=100)
    world.tick()
    gang = world.submit(lab, gpus=8, tier="research", preemptible=False)
    world.tick()
    assert gang.why is Constraint.RESERVATION
    found = told(gang)
    assert found["others_wait"] == f"If the gangs ahead stood aside: job {ahead.id}."
    assert hint(gang, "tier")["tier"] == "production"


def test_who_waits_behind_saved_quota_is_told_for_whom():
    world = Story(nodes=4)
    lab = world.tenant("lab", guarantee=32)
    world.running(lab, gpus=16, lasts_s=HOUR, **FIRM)
    ahead = world.submit(lab, gpus=24, age_s=5 * HOUR, **FIRM)
    behind = world.submit(lab, gpus=8, lasts_s=9 * HOUR, **FIRM)
    world.tick()
    assert behind.why is Constraint.RESERVATION and behind.binding.note == "saving"
    assert hint(behind, "others_wait")["jobs"] == [ahead.id]


def test_while_victims_drain_there_is_nothing_to_do(world: Story):
    owner, guest = world.tenant("owner", guarantee=64), world.tenant("guest")
    loan = world.running(guest, gpus=64, tier="best_effort", grace_s=120)
    gang = world.submit(owner, gpus=64)
    world.tick()
    assert gang.why is Constraint.DRAINING
    assert hint(gang, "draining") == {"until_s": 120.0, "jobs": [loan.id], "in_s": 0.0}
    assert told(gang) == {
        "draining": "Nothing to do: it starts when the preempted runs are out (expected minute 2)."
    }


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(worlds(size=5))
def test_every_hint_starts_the_job_in_the_world_that_it_names(world: World):
    decided = plan(world)
    for job in world.pending:
        hold = decided.hold_of(job)
        if hold is None:
            continue
        for found in unblock(world, job, hold.verdicts):
            changed = _as_told(world, job, found)
            if changed is not None:
                then = plan(changed)
                assert job.id in then.started_ids or any(e.for_job == job.id for e in then.evictions), found
            assert hint_text(found.kind, found.data, clock)


def _as_told(world: World, job: JobView, found: hints.Hint) -> World | None:
    """The world changed by hand as the hint says; None for kinds that only the module can build."""
    data = found.data
    match found.kind:
        case "runs_end":
            left = {k: r for k, r in world.runs.items() if r.job_id not in data["jobs"]}
            return replace(world, runs=left)
        case "entitlement":
            tenant = world.tenants[data["tenant"]]
            more = replace(tenant, entitlement={**tenant.entitlement, data["model"]: data["to_gpus"]})
            return replace(world, tenants={**world.tenants, data["tenant"]: more})
        case "tier":
            shape = replace(job.shape, tier=Tier(data["tier"]))
            others = [j for queue in world.queues.values() for j in queue if j.id != job.id]
            kept = {k: v for k, v in world.reservations.items() if k != job.id}
            return replace(world, queues=queues_of([*others, replace(job, shape=shape)]), reservations=kept)
    return None


def test_no_reason_no_hints(world: Story):
    gang = world.submit(world.tenant("lab", guarantee=64))
    assert binding(()) is None and unblock(world.snapshot(), gang.view, ()) == []
