"""A tick's searches are few; who fails again and again does not keep others from their turn."""

from cluster.scheduler.search_budget import SearchBudget
from tests.scheduler.worlds import Story


def turns(most: int, shapes: int, now_s: float) -> list[int]:
    budget = SearchBudget(most, shapes, now_s)
    return [shape for shape in range(shapes) if budget.spend()]


def test_as_many_shapes_as_the_budget_all_search():
    assert turns(64, 64, 0.0) == list(range(64))


def test_the_first_always_search_and_never_more_than_the_budget():
    for now_s in range(0, 3000, 30):
        found = turns(64, 1000, float(now_s))
        assert found[:48] == list(range(48)) and len(found) <= 64


def test_everybody_has_a_turn_within_a_while():
    seen: set[int] = set()
    for now_s in range(0, 30 * 600, 30):
        seen.update(turns(64, 500, float(now_s)))
    assert seen == set(range(500))


def test_without_a_budget_nobody_searches():
    assert turns(0, 10, 0.0) == []


def test_a_search_that_would_succeed_gets_its_turn_behind_many_that_fail():
    world = Story(nodes=4, search_budget=4, reserve_after_s=1e9)
    lab, other = world.tenant("lab", guarantee=16), world.tenant("other", guarantee=8)
    for _ in range(4):
        # Half of it is on loan, but no team calls loans back from itself, and tiers have used up their right.
        world.running(lab, gpus=8, tier="best_effort", preemption_budget=0, lasts_s=1e6)
    for i in range(12):
        world.submit(lab, gpus=8, age_s=900.0 - i, grace_s=float(i))
    last = world.submit(other, gpus=8)
    world.tick()
    assert last.is_queued and last.binding.proof == "search"
    world.until(last, hours=1.0)
