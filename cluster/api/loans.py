"""Loans: who borrows how much, whose idle entitlement it is, and how soon it comes back."""

from typing import Any

from django.http import HttpResponseBase
from drf_spectacular.utils import extend_schema, extend_schema_serializer
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from cluster.api.pagination import Pages
from cluster.api.viewset import Resource
from cluster.selectors.freshness import freshness
from cluster.selectors.loan_bound import back_within_s
from cluster.selectors.loans import loans_now
from cluster.selectors.standing import standings

SUMS = ("gpus", "called_back_gpus", "from_nobody")


class BorrowerRow(serializers.Serializer):
    tenant = serializers.CharField()
    gpu_model = serializers.CharField(source="model")
    gpus = serializers.IntegerField(help_text="Used above its entitlement.")
    runs = serializers.IntegerField()
    since = serializers.DateTimeField()
    called_back_gpus = serializers.IntegerField(help_text="Of them, being called back.")
    back_by = serializers.DateTimeField(allow_null=True, help_text="When the first of these are due.")


class LenderRow(serializers.Serializer):
    tenant = serializers.CharField()
    gpu_model = serializers.CharField(source="model")
    lent_gpus = serializers.IntegerField(
        source="lent", help_text="Its part of all loans, by its idle entitlement."
    )
    idle_entitlement_gpus = serializers.IntegerField(source="idle_entitlement", help_text="Lent or not.")
    still_idle_gpus = serializers.IntegerField(source="still_idle")
    entitled_gpus = serializers.IntegerField(source="entitled")


@extend_schema_serializer(many=False)
class LoansNow(serializers.Serializer):
    as_of = serializers.DateTimeField(allow_null=True, help_text="The last tick.")
    gpus = serializers.IntegerField(help_text="On loan.")
    called_back_gpus = serializers.IntegerField()
    from_nobody_gpus = serializers.IntegerField(
        source="from_nobody", help_text="Of them, GPUs that belong to no entitlement."
    )
    back_within_s = serializers.FloatField(
        allow_null=True,
        help_text="The longest grace window lent: no loan takes longer to come back. Null: no loan.",
    )
    borrowers = BorrowerRow(many=True)
    lenders = LenderRow(many=True)


class LoansResource(Resource):
    """Idle entitlement is lent to preemptible jobs only, and comes back when its owner asks for it."""

    serializer_class = LoansNow
    filter_backends = ()
    pagination_class = None
    orderings = {}
    csv_actions = frozenset({"borrowers", "lenders"})

    @extend_schema(operation_id="loans_now", responses=LoansNow)
    def list(self, request: Request, **kwargs: Any) -> Response:
        self.refuse_unknown_parameters()
        found = loans_now(standings())
        now = {
            "as_of": freshness().as_of,
            "back_within_s": back_within_s(),
            **{name: getattr(found, name) for name in SUMS},
        }
        return Response(LoansNow({**now, "borrowers": found.borrowers, "lenders": found.lenders}).data)

    @extend_schema(responses=BorrowerRow(many=True))
    @action(detail=False, serializer_class=BorrowerRow, pagination_class=Pages)
    def borrowers(self, request: Request, **kwargs: Any) -> HttpResponseBase:
        """The largest borrower first."""
        return self.listed(loans_now(standings()).borrowers)

    @extend_schema(responses=LenderRow(many=True))
    @action(detail=False, serializer_class=LenderRow, pagination_class=Pages)
    def lenders(self, request: Request, **kwargs: Any) -> HttpResponseBase:
        """The largest lender first."""
        return self.listed(loans_now(standings()).lenders)
