"""Whose request it is, and what they may see. Decided in tenancy.permissions; here it is only asked.

401 for whoever is not known; 403 for whoever is known and may not; 404 only for what is not there, and for
what is nobody else's business (the tokens of other people). Jobs of other tenants are there for everybody,
as numbers.
"""

from functools import cached_property
from typing import Any

from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request

from tenancy.permissions import Action, Grants


class Reader:
    """The user's rights, read once a request."""

    def __init__(self, grants: Grants) -> None:
        self.grants = grants

    @cached_property
    def visible_tenants(self) -> set[int]:
        """Tenants whose jobs this user sees with names and owners."""
        return self.grants.tenants(Action.SEE_JOB)

    def sees(self, tenant_id: int | None) -> bool:
        return tenant_id is None or tenant_id in self.visible_tenants


def reader_of(request: Request) -> Reader:
    known: Reader | None = getattr(request._request, "lockstep_reader", None)
    if known is None or known.grants.user is not request.user:
        known = Reader(Grants(request.user))
        request._request.lockstep_reader = known
    return known


class HasRole(IsAuthenticated):
    """Signed in, and with at least one role in this cluster."""

    message = "you have no role in this cluster yet; ask its owner for one"

    def has_permission(self, request: Request, view: Any) -> bool:
        return super().has_permission(request, view) and reader_of(request).grants.may(Action.SEE_CLUSTER)
