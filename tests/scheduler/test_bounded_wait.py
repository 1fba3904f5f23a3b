"""With any stream of small jobs the largest gang's wait is bounded, and the bound is the one that was shown.

The stream is an adversary: at every tick so many small jobs wait that what comes free could be filled at
once, by any of several tenants. Runs end when they are expected to; that is what the bound assumes.
"""

from dataclasses import dataclass
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.scheduler.world import ReservationView
from tests.scheduler.worlds import Gang, Story

NODES, NODE_GPUS = 10, 8
INSTALLED = NODES * NODE_GPUS
LARGE = INSTALLED * 8 // 10
TICK_S = 60.0
RESERVE_AFTER_S = 300.0
MAX_GRACE_S = 600.0


@dataclass(frozen=True)
class Rights:
    """By what right gang and stream use GPUs: what differs is what the stream could use up."""

    guarantee: int
    one_tenant: bool = False
    tier: str = "research"
    quotas: bool = True


RIGHTS = {
    "one pool without quotas": Rights(0, quotas=False),
    "nobody is entitled to anything": Rights(0),
    "everybody is entitled to everything": Rights(INSTALLED, tier="production"),
    "the stream is the gang's own tenant's": Rights(INSTALLED, one_tenant=True, tier="production"),
}
ONE_PHASE = ("one pool without quotas", "everybody is entitled to everything")
"""Where only GPUs are short, not quota: the gang gathers as soon as it may."""


class Siege:
    """A full cluster, a gang of 80 % of it, and an endless stream of small jobs."""

    def __init__(
        self,
        rights: Rights,
        seed: int,
        sizes: tuple[int, ...],
        longest_s: float,
        reserve_after_s: float = RESERVE_AFTER_S,
    ) -> None:
        self.rng, self.rights = Random(seed), rights
        self.sizes, self.longest_s = sizes, longest_s
        self.world = Story(
            NODES,
            tick_s=TICK_S,
            quotas=rights.quotas,
            max_grace_s=MAX_GRACE_S,
            reserve_after_s=reserve_after_s,
            save_after_s=reserve_after_s,
        )
        self.small = [self._tenant(f"small{i}") for i in range(3)]
        self.large = self.small[0] if rights.one_tenant else self._tenant("large")
        self.waiting: list[Gang] = []
        self._top_up(200)
        self.world.tick()

    def _tenant(self, name: str) -> str:
        return self.world.tenant(name, guarantee=self.rights.guarantee)

    def _top_up(self, many: int) -> None:
        self.waiting = [gang for gang in self.waiting if gang.is_queued]
        for _ in range(many - len(self.waiting)):
            tenant = self.large if self.rights.one_tenant else self.rng.choice(self.small)
            self.waiting.append(
                self.world.submit(
                    tenant,
                    gpus=self.rng.choice(self.sizes),
                    tier=self.rights.tier,
                    lasts_s=self.rng.uniform(0.1, 1.0) * self.longest_s,
                    grace_s=self.rng.choice((0.0, 60.0, MAX_GRACE_S)),
                )
            )

    def submit_gang(self) -> Gang:
        """Nobody waits before it: what the stream queues from now on is younger."""
        for gang in self.waiting:
            if gang.is_queued:
                self.world.withdraw(gang)
        self.waiting = []
        return self.world.submit(self.large, gpus=LARGE, tier=self.rights.tier, grace_s=MAX_GRACE_S)

    def withstand(self, gang: Gang, most_s: float) -> list[ReservationView]:
        """Let the stream go on until the gang runs; gives its reservation as it stood at each tick."""
        seen = []
        while not gang.is_running:
            assert self.world.now_s - gang.work.submit_s <= most_s, f"still waiting: {gang.says}"
            self._top_up(INSTALLED // min(self.sizes))
            self.world.pass_tick()
            if gang.reservation is not None:
                seen.append(gang.reservation)
        return seen


sieges = settings(max_examples=8, deadline=None)
seeds = st.integers(0, 2**32)
sizes = st.sampled_from([(8,), (4, 8), (2, 4, 8), (8, 16)])
lengths = st.sampled_from([900.0, 3600.0])


@pytest.mark.parametrize("rights", RIGHTS)
@sieges
@given(seeds, sizes, lengths)
def test_a_gang_of_four_fifths_of_the_cluster_starts_by_the_bound_it_was_shown(
    rights, seed, sizes, longest_s
):
    siege = Siege(RIGHTS[rights], seed, sizes, longest_s)
    gang = siege.submit_gang()
    phases = 1 if rights in ONE_PHASE else 2
    most_s = RESERVE_AFTER_S + phases * (longest_s + TICK_S) + MAX_GRACE_S

    seen = siege.withstand(gang, most_s)

    assert gang.waited_s <= most_s
    if seen:
        shown = seen[0]
        assert shown.bound_s <= shown.created_s + longest_s + MAX_GRACE_S
        assert gang.work.start_s <= shown.bound_s + TICK_S
        assert all(later.bound_s <= shown.bound_s for later in seen)
    if rights in ONE_PHASE and seen:
        assert seen[0].created_s <= gang.work.submit_s + RESERVE_AFTER_S + TICK_S


@pytest.mark.parametrize("rights", RIGHTS)
def test_the_siege_is_one_without_reservations_it_would_never_start(rights):
    siege = Siege(RIGHTS[rights], seed=1, sizes=(4, 8), longest_s=900.0, reserve_after_s=1e9)
    gang = siege.submit_gang()
    with pytest.raises(AssertionError, match="still waiting"):
        siege.withstand(gang, most_s=4 * 3600.0)


@sieges
@given(seeds, sizes)
def test_two_such_gangs_start_one_after_the_other(seed, sizes):
    longest_s = 1800.0
    siege = Siege(RIGHTS["one pool without quotas"], seed, sizes, longest_s)
    first, second = siege.submit_gang(), siege.submit_gang()
    siege.withstand(first, RESERVE_AFTER_S + longest_s + MAX_GRACE_S + TICK_S)

    seen = siege.withstand(second, 3 * RESERVE_AFTER_S + 2 * first.work.duration_s + MAX_GRACE_S)

    assert first.work.start_s < second.work.start_s
    assert second.work.start_s <= seen[0].bound_s + TICK_S


@sieges
@given(seeds, st.sampled_from([(8,), (2, 4)]))
def test_backfill_that_would_run_for_days_does_not_delay_it(seed, sizes):
    siege = Siege(RIGHTS["one pool without quotas"], seed, sizes, longest_s=3600.0)
    gang = siege.submit_gang()
    siege.longest_s = 200 * 3600.0  # from now on

    seen = siege.withstand(gang, RESERVE_AFTER_S + 3600.0 + MAX_GRACE_S + TICK_S)

    assert gang.work.start_s <= seen[0].bound_s + TICK_S


@sieges
@given(seeds)
def test_a_lower_tier_in_the_gap_gives_way_in_time(seed):
    siege = Siege(RIGHTS["everybody is entitled to everything"], seed, (8,), longest_s=3600.0)
    gang = siege.submit_gang()
    idle = [siege.world.submit(siege.small[1], gpus=8, tier="best_effort", lasts_s=1e6) for _ in range(20)]

    siege.withstand(gang, RESERVE_AFTER_S + 3600.0 + MAX_GRACE_S + TICK_S)

    assert not any(other.is_running and other.nodes & gang.nodes for other in idle)
