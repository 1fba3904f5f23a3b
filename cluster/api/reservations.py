"""Reservations: nodes gathered for one gang, when it should be whole, and by when at the latest."""

from django_filters import rest_framework as filters
from rest_framework import serializers

from cluster.api.fields import Name, Row
from cluster.api.filters import FromFilter, OpenFilter, TenantFilter, ToFilter, WholeFilter, WordsFilter
from cluster.api.viewset import ReadResource
from cluster.models import Reservation, ReservationNode


class ReservedNode(Row):
    node = Name()
    gpus_on_node = serializers.IntegerField(source="gpus", help_text="GPUs wanted on this node.")

    class Meta:
        model = ReservationNode
        fields = ("node", "gpus_on_node")


class ReservationRow(Row):
    job = serializers.IntegerField(source="job_id")
    tenant = Name(source="job.tenant")
    tier = serializers.CharField(source="job.tier")
    gpus = serializers.IntegerField(source="job.gpus", help_text="GPUs of the gang.")
    nodes = ReservedNode(many=True, help_text="The target: which nodes are being gathered.")

    class Meta:
        model = Reservation
        fields = (
            "id",
            "job",
            "tenant",
            "tier",
            "gpus",
            "why",
            "created_at",
            "ready_at",
            "bound_at",
            "closed_at",
            "nodes",
        )


class ReservationFilter(filters.FilterSet):
    job = WholeFilter(field_name="job_id")
    tenant = TenantFilter("job__tenant")
    why = WordsFilter(Reservation.Why)
    open = OpenFilter("closed_at", help_text="Still gathering.")
    created_from, created_to = FromFilter("created_at"), ToFilter("created_at")


class Reservations(ReadResource):
    """`ready_at` is expected, `bound_at` is the latest unless a run overruns; null: cannot be said."""

    queryset = Reservation.objects.select_related("job__tenant").prefetch_related("nodes__node")
    serializer_class = ReservationRow
    filterset_class = ReservationFilter
    orderings = {"id": "id", "created_at": "created_at", "ready_at": "ready_at", "bound_at": "bound_at"}
    default_ordering = "-created_at"
    csv_expand = "nodes"
    noun = "reservation"
