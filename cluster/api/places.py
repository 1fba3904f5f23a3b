"""Where nodes stand: pods, their blocks, and racks."""

from django.db.models import Count
from django_filters import rest_framework as filters
from rest_framework import serializers

from cluster.api.fields import Name, Row
from cluster.api.filters import NameFilter
from cluster.api.viewset import ReadResource
from fabric.models import Block, Pod, Rack


class PodRow(Row):
    blocks = serializers.IntegerField(source="blocks_in_it")
    nodes = serializers.IntegerField(source="nodes_in_it")
    gpus = serializers.IntegerField(source="gpus_in_it", help_text="Installed, in whatever state.")

    class Meta:
        model = Pod
        fields = ("name", "blocks", "nodes", "gpus")


class BlockRow(Row):
    pod = Name()
    nodes = serializers.IntegerField(source="nodes_in_it")
    gpus = serializers.IntegerField(source="gpus_in_it", help_text="Installed, in whatever state.")

    class Meta:
        model = Block
        fields = ("name", "pod", "nodes", "gpus")


class RackRow(Row):
    nodes = serializers.IntegerField(source="nodes_in_it")
    gpus = serializers.IntegerField(source="gpus_in_it", help_text="Installed, in whatever state.")

    class Meta:
        model = Rack
        fields = ("name", "row", "position", "power_limit_w", "nodes", "gpus")


class BlockFilter(filters.FilterSet):
    pod = NameFilter(Pod.objects.all(), field_name="pod", help_text="Name of a pod.")


class Place(ReadResource):
    """What the three have in common."""

    orderings = {"name": "name", "gpus": "gpus_in_it"}
    default_ordering = "name"
    lookup_field = "name"
    lookup_value_regex = "[^/]+"


class Pods(Place):
    """Blocks under one spine group."""

    queryset = Pod.objects.annotate(
        blocks_in_it=Count("blocks", distinct=True),
        nodes_in_it=Count("blocks__nodes", distinct=True),
        gpus_in_it=Count("blocks__nodes__gpus"),
    )
    serializer_class = PodRow
    noun = "pod"


class Blocks(Place):
    """Nodes under one leaf switch, or in one NVLink domain."""

    queryset = Block.objects.select_related("pod").annotate(
        nodes_in_it=Count("nodes", distinct=True), gpus_in_it=Count("nodes__gpus")
    )
    serializer_class = BlockRow
    filterset_class = BlockFilter
    noun = "block"


class Racks(Place):
    """Where nodes stand, and what they may draw there."""

    queryset = Rack.objects.annotate(
        nodes_in_it=Count("nodes", distinct=True), gpus_in_it=Count("nodes__gpus")
    )
    serializer_class = RackRow
    noun = "rack"
