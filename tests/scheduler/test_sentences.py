"""Every reason in words, from worlds in which it arises; the numbers are those of the world."""

import json

import pytest

from cluster.scheduler.explain import TITLES, checklist, headline, number, sentence
from cluster.scheduler.verdict import Blocker, Verdict, binding, signature
from cluster.scheduler.words import PRECEDENCE, Constraint
from tests.scheduler.worlds import HOUR, MINUTE, Gang, Story, clock, nodes_in_blocks

FIRM = {"tier": "production"}


def line(gang: Gang, constraint: Constraint) -> str:
    """What the checklist says of one constraint."""
    return next(v for v in checklist(gang.hold.verdicts, clock) if v.constraint == constraint.value).text


def blocked(world: Story, *, gpus: int = 8, **asked) -> Gang:
    """A gang of a tenant that is entitled to all there is, after one tick."""
    lab = next(iter(world.replay.tenants), None) or world.tenant("lab", guarantee=1000)
    gang = world.submit(lab, gpus=gpus, **{**FIRM, **asked})
    world.tick()
    return gang


# never fits


def test_more_than_is_installed(world: Story):
    assert blocked(world, gpus=65).says == "It can never run: 65 GPUs asked, 64 installed (h100 GPUs)."


def test_more_nodes_of_a_size_than_there_are(world: Story):
    gang = blocked(world, members=((9, 4),))
    assert gang.says == "It can never run: 9 nodes asked, 8 installed (h100 nodes with 4 GPUs)."


def test_not_that_close_together(world: Story):
    assert blocked(world, gpus=24, within="block").says == (
        "It can never run as close together as it must: 24 GPUs asked, "
        "16 installed (h100 GPUs in block n-block0)."
    )
    assert blocked(world, members=((2, 4),), within="node").says == (
        "It can never run as close together as it must: 2 nodes asked, "
        "1 installed (h100 nodes with 4 GPUs on one node)."
    )


def test_a_gpu_model_that_nobody_has(world: Story):
    gang = blocked(world, model="tpu")
    assert gang.why is Constraint.NEVER_FITS
    assert gang.says == "It can never run: 8 GPUs asked, 0 installed (tpu GPUs)."


def test_an_empty_fleet_is_no_empty_reason():
    gang = blocked(Story([]))
    assert gang.why is Constraint.NEVER_FITS and "0 installed" in gang.says


# people and time


def test_a_person_holds_it(world: Story):
    gang = world.submit(world.tenant("lab", guarantee=64))
    world.hold(gang, "until the review")
    world.tick()
    assert gang.says == "Held by a person: until the review."


@pytest.mark.parametrize(
    ("why", "text"),
    [
        ("backoff", "Backing off after a failed start: next try at minute 5."),
        ("asked", "Not to start before its time: next try at minute 5."),
    ],
)
def test_its_time_has_not_come(world: Story, why, text):
    gang = world.submit(world.tenant("lab", guarantee=64))
    world.delay(gang, until_s=5 * MINUTE, why=why)
    world.tick()
    assert gang.says == text


# nodes


def test_it_cannot_do_without_nodes_that_are_out_of_service(world: Story):
    lab = world.tenant("lab", guarantee=64)
    world.running(lab, gpus=8, on=["n0"], **FIRM)
    world.drain("n7", why="drained: cable check")
    world.drain("n6", why="repair")
    assert blocked(world, gpus=56).says == (
        "It cannot run without nodes that are out of service: 56 GPUs asked; of 64 h100 GPUs "
        "16 are out of service: n6 (repair), n7 (drained: cable check)."
    )


def test_nodes_out_of_service_would_do_beside_what_is_free(world: Story):
    lab = world.tenant("lab", guarantee=64)
    world.running(lab, gpus=40, on=["n0", "n1", "n2", "n3", "n4"], **FIRM)
    world.drain("n7", why="repair")
    assert blocked(world, gpus=24).says == (
        "It would fit if the nodes out of service were back: 24 GPUs asked; of 24 h100 GPUs "
        "8 are out of service: n7 (repair)."
    )


def test_many_nodes_out_of_service_are_not_all_named():
    world = Story(nodes=12)
    world.drain(*[f"n{i}" for i in range(11)], why="repair")
    assert blocked(world, gpus=96).says.endswith("n7 (repair), and 3 more.")


# quota


def test_firm_work_beyond_its_guarantee(world: Story):
    lab = world.tenant("lab", guarantee=24)
    world.running(lab, gpus=16, **FIRM)
    gang = world.submit(lab, gpus=16, **FIRM)
    world.tick()
    assert gang.says == (
        "16 used + 16 asked = 32, 8 over the guarantee of 24 (tenant lab); only preemptible jobs may borrow."
    )


def test_a_borrowing_limit(world: Story):
    lab = world.tenant("lab", guarantee=24, borrows=8)
    world.running(lab, gpus=32)
    gang = world.submit(lab, gpus=8)
    world.tick()
    assert gang.says == (
        "32 used + 8 asked = 40, 8 over the guarantee and borrowing limit, together 32 (tenant lab)."
    )


def test_a_policy_without_lending():
    world = Story(lending=False)
    lab = world.tenant("lab", guarantee=24)
    gang = world.submit(lab, gpus=32)
    world.tick()
    assert gang.says == (
        "0 used + 32 asked = 32, 8 over the quota of 24 (tenant lab); this policy lends nothing."
    )


def test_a_gang_that_quota_is_saved_for_is_told_until_when(world: Story):
    lab = world.tenant("lab", guarantee=24)
    world.running(lab, gpus=16, lasts_s=HOUR, **FIRM)
    gang = world.submit(lab, gpus=16, age_s=5 * HOUR, **FIRM)
    world.tick()
    assert gang.says.endswith("What comes back is saved for it: enough is expected at minute 60.")


def test_loans_that_others_have_taken_and_limits_that_keep_the_rest(world: Story):
    world.tenant("owner", guarantee=64, lends=16)
    first, second = world.tenant("first"), world.tenant("second")
    world.running(first, gpus=16)
    gang = world.submit(second, gpus=8)
    world.tick()
    assert gang.says == (
        "16 on loan or promised to gangs ahead + 8 asked beyond its guarantee = 24, 8 over the 16 GPUs "
        "that others would leave idle (loans of h100). Held back by lending limits: owner keeps 48 GPUs."
    )


def test_the_quota_line_of_who_is_blocked_by_something_else(world: Story):
    lab, owner = world.tenant("lab", guarantee=16), world.tenant("owner", guarantee=48)
    world.running(owner, gpus=48, **FIRM)
    world.running(lab, gpus=8, **FIRM)
    within = world.submit(lab, gpus=8, within="block", **FIRM)
    world.running(lab, gpus=4, tier="best_effort")
    world.tick()
    assert within.is_running or line(within, Constraint.QUOTA).startswith("Within its guarantee: 8 used + 8")


def test_above_the_guarantee_it_would_run_on_loan(world: Story):
    world.tenant("owner", guarantee=64)
    guest = world.tenant("guest")
    world.running(guest, gpus=60, tier="best_effort")
    gang = world.submit(guest, gpus=4, members=((2, 2),), within="node", tier="best_effort")
    world.tick()
    assert line(gang, Constraint.QUOTA) == (
        "Above its guarantee of 0 (tenant guest uses 60): it would run on loan and can be called back."
    )


def test_no_quotas_apply():
    world = Story(nodes=1, quotas=False)
    world.running("anybody", gpus=8, **FIRM)
    gang = world.submit("anybody", gpus=8, **FIRM)
    world.tick()
    assert line(gang, Constraint.QUOTA) == "No quotas apply under this policy."


# who is ahead


def test_gpus_are_free_but_held_for_others():
    world = Story(nodes=4, reserve_after_s=0.0)
    lab = world.tenant("lab", guarantee=1000)
    world.running(lab, gpus=16, lasts_s=HOUR, **FIRM)
    ahead = world.submit(lab, gpus=32, **FIRM)
    world.tick()
    assert blocked(world, gpus=8).says == (
        "16 h100 GPUs are free, but 16 of them are held for gangs ahead, and 8 are asked: reservation of "
        f"job {ahead.id} (lab, production 16 GPUs, until minute 60). "
        "The last is expected to be whole at minute 60."
    )


def test_quota_is_saved_for_others(world: Story):
    lab = world.tenant("lab", guarantee=24)
    world.running(lab, gpus=16, lasts_s=HOUR, **FIRM)
    ahead = world.submit(lab, gpus=16, age_s=5 * HOUR, **FIRM)
    gang = world.submit(lab, gpus=8, lasts_s=9 * HOUR, **FIRM)
    world.tick()
    assert gang.says == (
        "32 used or saved for gangs that have waited longer + 8 asked, 16 over 24 (tenant lab): "
        f"job {ahead.id} (lab, production 16 GPUs, until minute 60). "
        "They are expected to have enough at minute 60."
    )


def test_under_plain_queueing_the_head_is_named():
    world = Story(nodes=2, queueing="fifo", quotas=False)
    world.running("lab", gpus=8)
    head = world.submit("lab", gpus=16, age_s=10)
    gang = world.submit("lab", gpus=8)
    world.tick()
    assert gang.says == (
        f"Behind job {head.id} (lab, research 16 GPUs): this policy lets nothing pass the head of the queue."
    )


# room


def test_too_few_gpus_are_free_and_who_holds_them(world: Story):
    lab = world.tenant("lab", guarantee=1000)
    big = world.running(lab, gpus=40, lasts_s=HOUR, **FIRM)
    soft = world.running(lab, gpus=16, tier="best_effort", lasts_s=2 * HOUR)
    assert blocked(world, gpus=32).says == (
        "32 GPUs asked, 8 free of h100 GPUs: 24 short. It may call back or preempt 16 GPUs. "
        f"Held by job {big.id} (lab, production 40 GPUs, until minute 60); "
        f"job {soft.id} (lab, best effort 16 GPUs, until minute 120)."
    )


def test_enough_gpus_but_in_pieces():
    world = Story(nodes=3)
    lab = world.tenant("lab", guarantee=1000)
    for node in ("n0", "n1"):
        world.running(lab, gpus=4, on=[node], lasts_s=HOUR, **FIRM)
    gang = blocked(world, gpus=16)
    assert gang.says.startswith(
        "16 GPUs are free in pieces: 2 nodes asked, 1 free of h100 nodes with 8 GPUs: 1 short."
    )


def test_a_gang_that_gathers_is_told_when_it_is_whole():
    world = Story(nodes=2, reserve_after_s=0.0)
    lab = world.tenant("lab", guarantee=1000)
    world.running(lab, gpus=8, lasts_s=HOUR, **FIRM)
    assert "It is gathering nodes, expected whole at minute 60." in blocked(world, gpus=16).says


def test_a_search_that_ended_at_its_budget_is_no_proof():
    world = Story(nodes=1, search_budget=0)
    lab = world.tenant("lab", guarantee=1000)
    world.running(lab, gpus=8, tier="best_effort")
    gang = blocked(world)
    assert gang.binding.proof == "search"
    assert gang.says.endswith("stopped at its budget: not a proof, it goes on next tick.")


def test_not_close_enough_together(world: Story):
    lab = world.tenant("lab", guarantee=1000)
    for node in ("n0", "n2", "n4", "n6"):
        world.running(lab, gpus=8, on=[node], **FIRM)
    gang = blocked(world, gpus=16, within="block")
    assert gang.says == (
        "It would fit, but not close enough together: 16 GPUs asked, "
        "8 free of h100 GPUs in block n-block0: 8 short."
    )


def test_without_room_anywhere_closeness_is_not_the_question(world: Story):
    lab = world.tenant("lab", guarantee=1000)
    world.running(lab, gpus=64, **FIRM)
    gang = blocked(world, gpus=16, within="block")
    assert line(gang, Constraint.TOPOLOGY) == "Not the question yet: there is no room for it anywhere."


def test_preempted_runs_are_counted_until_they_have_left(world: Story):
    lab = world.tenant("lab", guarantee=64)
    first = world.running(lab, gpus=32, tier="best_effort", grace_s=60)
    second = world.running(lab, gpus=32, tier="best_effort", grace_s=120)
    gang = blocked(world, gpus=64)
    assert gang.says == (
        "Waiting for 2 preempted runs to leave; all are out by minute 2: "
        f"job {first.id} (lab, best effort 32 GPUs, until minute 1); "
        f"job {second.id} (lab, best effort 32 GPUs, until minute 2)."
    )


# the checklist as a whole


def test_the_checklist_is_in_order_and_one_line_binds(world: Story):
    lab = world.tenant("lab", guarantee=1000)
    world.running(lab, gpus=64, **FIRM)
    world.drain("n7")
    lines = checklist(blocked(world, gpus=16, within="block").hold.verdicts, clock)
    ranks = [PRECEDENCE[Constraint(entry.constraint)] for entry in lines]
    assert ranks == sorted(ranks) and len(set(ranks)) == len(ranks)
    assert [entry.constraint for entry in lines if entry.binds] == [Constraint.GANG_SIZE]
    assert all(entry.text and entry.title for entry in lines)
    assert {entry.mark for entry in lines} <= {"pass", "fail", "unknown"}


def test_every_constraint_has_a_title_and_a_sentence_even_without_numbers():
    for constraint in Constraint:
        for ok in (True, False):
            said = sentence(Verdict(constraint, ok, "somewhere", unit="GPU"), clock)
            assert said and TITLES[constraint]


@pytest.mark.parametrize(
    ("note", "says"), [("freed_late", "came free"), ("overtaken", "changed"), ("", "yet")]
)
def test_what_is_not_evaluated_says_why(note, says):
    assert says in sentence(Verdict(Constraint.NOT_EVALUATED, False, "this tick", unit="", note=note), clock)


def test_a_long_list_of_holders_is_cut_and_counted():
    blockers = tuple(Blocker("run", str(i), 8, "lab", "research") for i in range(5))
    verdict = Verdict(Constraint.GANG_SIZE, False, "h100 GPUs", 8, 0, 0, blockers=blockers)
    assert sentence(verdict, clock).endswith("job 2 (lab, research 8 GPUs); and 2 more.")


def test_numbers_are_exact_and_unknown_is_not_nought():
    assert [number(v) for v in (None, 0, 1234, 2.5)] == ["unknown", "0", "1,234", "2.5"]


def test_a_verdict_survives_its_way_through_json(world: Story):
    gang = blocked(world, gpus=65)
    for verdict in gang.hold.verdicts:
        assert Verdict.from_json(json.loads(json.dumps(verdict.as_json()))) == verdict


def test_nothing_fails_nothing_binds():
    verdicts = [Verdict(Constraint.QUOTA, True, "tenant lab")]
    assert binding(verdicts) is None and headline(verdicts, clock) == "" and signature(verdicts) == ""


def test_a_reason_is_recorded_anew_for_another_tenants_quota_but_not_for_other_numbers():
    def quota(scope: str, used: int) -> list[Verdict]:
        return [Verdict(Constraint.QUOTA, False, scope, 8, used, 8, note="borrowing_limit")]

    assert signature(quota("tenant a", 8)) == signature(quota("tenant a", 16))
    assert signature(quota("tenant a", 8)) != signature(quota("tenant lab", 8))


def test_the_same_shortage_on_another_block_is_the_same_reason():
    first = Story(nodes_in_blocks(6, block=2, pod=6))
    lab = first.tenant("lab", guarantee=1000)
    for node in ("n0", "n2", "n4"):
        first.running(lab, gpus=8, on=[node], **FIRM)
    here = blocked(first, gpus=16, within="block")
    then = signature(here.hold.verdicts)
    first.running(lab, gpus=4, on=["n1"], **FIRM)
    first.tick()
    assert here.binding.scope.endswith("n-block1") and signature(here.hold.verdicts) == then
