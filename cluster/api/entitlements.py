"""Entitlements: the guaranteed GPUs of each tenant, and how far it lends and borrows."""

from django_filters import rest_framework as filters
from rest_framework import serializers

from cluster.api.fields import Name, Row
from cluster.api.filters import TenantFilter
from cluster.api.viewset import ReadResource
from tenancy.models import Entitlement


class EntitlementRow(Row):
    tenant = Name()
    lending_limit = serializers.IntegerField(allow_null=True, help_text="GPUs; null: unlimited.")
    borrowing_limit = serializers.IntegerField(allow_null=True, help_text="GPUs; null: unlimited.")

    class Meta:
        model = Entitlement
        fields = ("id", "tenant", "gpu_model", "gpus", "lending_limit", "borrowing_limit")


class EntitlementFilter(filters.FilterSet):
    tenant = TenantFilter()
    gpu_model = filters.CharFilter(help_text="Name of a GPU model.")


class Entitlements(ReadResource):
    """A job within its tenant's entitlement is never refused for lack of quota."""

    queryset = Entitlement.objects.select_related("tenant")
    serializer_class = EntitlementRow
    filterset_class = EntitlementFilter
    orderings = {"id": "id", "tenant": "tenant__name", "gpu_model": "gpu_model", "gpus": "gpus"}
    default_ordering = "tenant"
    noun = "entitlement"
