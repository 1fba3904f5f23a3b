"""Entitlements, loans and limits over a tree of tenants, as sums that can be done in the head."""

import pytest

from cluster.scheduler.lending import Books
from cluster.scheduler.policy import Policy
from cluster.scheduler.words import Constraint, Tier
from cluster.scheduler.world import Shape, TenantView
from tests.scheduler.worlds import MODEL

INSTALLED = 100


def tenant(name, gpus=None, *, parent=None, weight=1.0, lends=None, borrows=None) -> TenantView:
    stated = {} if gpus is None else {MODEL: gpus}
    return TenantView(name, parent, weight, stated, {MODEL: lends}, {MODEL: borrows})


def books(*tenants: TenantView, installed: int = INSTALLED, **policy) -> Books:
    return Books({t.name: t for t in tenants}, {}, {MODEL: installed}, Policy(**policy))


def gang(name: str, gpus: int, tier: Tier = Tier.RESEARCH, preemptible: bool = True) -> Shape:
    firm = tier is Tier.PRODUCTION
    return Shape(name, tier, MODEL, ((1, gpus),), preemptible=preemptible and not firm)


def test_within_the_guarantee_is_entitled_and_beyond_it_is_a_loan():
    found = books(tenant("a", 30), tenant("b", 70))
    assert found.claim(gang("a", 30)).entitled
    assert found.claim(gang("a", 31)).entitled is False and found.claim(gang("a", 31)).refusal is None


def test_firm_work_pushes_softer_work_of_its_own_tenant_into_a_loan():
    found = books(tenant("a", 30), tenant("b", 70))
    found.use(gang("a", 30, Tier.BEST_EFFORT))
    assert found.claim(gang("a", 30, Tier.PRODUCTION)).entitled
    found.use(gang("a", 30, Tier.PRODUCTION))
    assert found.loaned("a", MODEL) == 30
    assert not found.claim(gang("a", 1)).entitled


def test_the_pool_is_idle_guarantees_and_what_nobody_is_entitled_to():
    found = books(tenant("a", 30), tenant("b", 50, lends=10))
    assert found.pool(MODEL) == (30 + 10 + 20, 0)
    found.use(gang("a", 40))
    assert found.pool(MODEL) == (0 + 10 + 20, 10)


def test_guarantees_beyond_the_hardware_leave_nothing_of_nobody():
    assert books(tenant("a", 80), tenant("b", 80)).pool(MODEL) == (160, 0)


def test_ones_own_idle_guarantee_is_not_lent_to_oneself():
    found = books(tenant("a", 60), tenant("b", 40))
    found.use(gang("b", 40))
    refusal = found.claim(gang("a", 61)).refusal
    assert refusal is not None and refusal.constraint is Constraint.GUARANTEE
    assert (refusal.demand, refusal.used, refusal.limit, refusal.missing) == (1, 0, 0, 1)


def test_a_lender_that_takes_its_own_back_shrinks_the_pool_for_the_next():
    found = books(tenant("a", 0), tenant("b", 100))
    found.use(gang("b", 90))
    assert found.claim(gang("a", 10)).refusal is None
    found.use(gang("b", 10))
    assert found.claim(gang("a", 10)).refusal is not None


@pytest.mark.parametrize(("asked", "refused"), [(40, False), (41, True)])
def test_a_borrowing_limit_counts_what_is_used_above_the_guarantee(asked, refused):
    found = books(tenant("a", 30, borrows=10), tenant("b", 70))
    refusal = found.claim(gang("a", asked)).refusal
    assert (refusal is not None) == refused
    if refusal is not None:
        assert (refusal.constraint, refusal.note, refusal.limit) == (Constraint.QUOTA, "borrowing_limit", 40)


def test_an_organisation_bounds_its_teams_together():
    found = books(
        tenant("lab", borrows=5),
        tenant("x", 20, parent="lab"),
        tenant("y", 20, parent="lab"),
        tenant("b", 60),
    )
    assert found.entitlement("lab", MODEL) == 40  # it states none: the sum of its teams
    found.use(gang("x", 25))
    assert found.in_use("lab", MODEL) == 25 and found.loaned("lab", MODEL) == 0
    refusal = found.claim(gang("y", 21)).refusal
    assert refusal is not None and refusal.scope == "tenant lab" and refusal.missing == 1
    assert found.claim(gang("y", 20)).entitled


def test_an_unset_limit_is_unlimited_and_a_limit_of_nought_is_none_at_all():
    assert books(tenant("a", 0), tenant("b", 100)).claim(gang("a", 100)).refusal is None
    assert books(tenant("a", 0, borrows=0), tenant("b", 100)).claim(gang("a", 1)).refusal is not None
    assert books(tenant("a", 0), tenant("b", 100, lends=0)).claim(gang("a", 1)).refusal is not None


def test_only_what_can_be_called_back_borrows():
    found = books(tenant("a", 0), tenant("b", 100))
    for shape in (gang("a", 1, Tier.PRODUCTION), gang("a", 1, preemptible=False)):
        refusal = found.claim(shape).refusal
        assert refusal is not None and refusal.note == "not_preemptible"


def test_a_cut_guarantee_makes_what_runs_a_loan_that_was_not_borrowed():
    found = books(tenant("a", 10, borrows=0), tenant("b", 90))
    found.use(gang("a", 30, Tier.PRODUCTION))
    assert found.loaned("a", MODEL) == 20
    assert found.claim(gang("a", 1, Tier.PRODUCTION)).refusal is not None
    assert found.claim(gang("b", 90, Tier.PRODUCTION)).entitled  # its guarantee stands all the same


def test_who_borrows_less_for_its_weight_borrows_first_at_every_level():
    tree = (tenant("x", 0, parent="lab", weight=2.0), tenant("y", 0, parent="lab"), tenant("z", 0))
    found = books(tenant("lab"), *tree)
    found.use(gang("x", 8))
    found.use(gang("z", 4))
    shares = {name: found.claim(gang(name, 1)).share for name in "xyz"}
    assert shares == {"x": (8.0, 4.0), "y": (8.0, 0.0), "z": (4.0,)}
    assert sorted("xyz", key=shares.__getitem__) == ["z", "y", "x"]


def test_a_weight_of_nought_comes_last_however_little_it_uses():
    found = books(tenant("a", 0, weight=0.0), tenant("b", 0))
    found.use(gang("b", 50))
    assert found.claim(gang("a", 1)).share > found.claim(gang("b", 1)).share


def test_without_quotas_everybody_is_entitled_and_an_unknown_tenant_too():
    assert books(tenant("a", 0), quotas=False).claim(gang("a", 100)).entitled
    assert books(tenant("a", 0)).claim(gang("stranger", 100)).entitled


def test_what_a_waiting_gang_is_charged_with_counts_against_firmer_work_of_its_tenant_too():
    found = books(tenant("a", 50), tenant("b", 50))
    found.use(gang("a", 20))
    found.charge(gang("a", 30))
    assert found.claim(gang("a", 1, preemptible=False)).refusal is not None
    assert found.claim(gang("b", 50)).entitled
    found.use(gang("b", 50))
    assert found.claim(gang("a", 1, Tier.BEST_EFFORT)).refusal is not None


def test_a_copy_is_on_its_own():
    found = books(tenant("a", 10), tenant("b", 90))
    twin = found.copy()
    twin.use(gang("a", 10))
    assert found.claim(gang("a", 10)).entitled and not twin.claim(gang("a", 10)).entitled
    twin.use(gang("a", 10), times=-1)
    assert twin.claim(gang("a", 10)).entitled and twin.pool(MODEL) == found.pool(MODEL)


def test_what_is_refused_is_attainable_if_only_runs_stand_in_the_way():
    found = books(tenant("a", 40, borrows=20), tenant("b", 40), tenant("c", 20, lends=5))
    found.use(gang("a", 40))
    found.use(gang("c", 45))
    assert found.attainable(gang("a", 40))  # its own runs will end
    assert found.attainable(gang("a", 60))  # loans will come back
    assert not found.attainable(gang("a", 61))  # beyond its limit
    assert not found.attainable(gang("a", 41, preemptible=False))  # may never borrow
    found.use(gang("b", 40))
    assert not found.attainable(gang("a", 60))  # the lender uses its own: nobody knows until when


def test_lenders_that_keep_something_back_are_named_with_how_much():
    found = books(tenant("a", 0), tenant("b", 60, lends=10), tenant("c", 30))
    assert [(b.id, b.gpus) for b in found.lenders(MODEL)] == [("b", 50)]
    assert found.lenders(MODEL, besides="b") == ()
