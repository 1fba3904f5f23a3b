"""Addresses of the REST API."""

from django.urls import include, path, re_path
from rest_framework.routers import DefaultRouter
from rest_framework.urlpatterns import format_suffix_patterns

from cluster.api.allocations import Allocations
from cluster.api.capacity import CapacityResource
from cluster.api.decisions import Decisions
from cluster.api.docs import Docs, SchemaFile, nothing_here
from cluster.api.entitlements import Entitlements
from cluster.api.events import Events
from cluster.api.gpu_models import GpuModels
from cluster.api.jobs import Jobs
from cluster.api.loans import LoansResource
from cluster.api.nodes import Nodes
from cluster.api.places import Blocks, Pods, Racks
from cluster.api.policy import PolicyVersions
from cluster.api.preemptions import Preemptions
from cluster.api.reservations import Reservations
from cluster.api.runs import Runs
from cluster.api.tenants import Tenants
from cluster.api.ticks import Ticks
from cluster.api.tokens import Tokens
from cluster.api.usage import UsageResource

router = DefaultRouter()
router.include_format_suffixes = False  # below, and for our two formats only
for name, resource in {
    "jobs": Jobs,
    "runs": Runs,
    "allocations": Allocations,
    "reservations": Reservations,
    "decisions": Decisions,
    "preemptions": Preemptions,
    "tenants": Tenants,
    "entitlements": Entitlements,
    "loans": LoansResource,
    "gpu-models": GpuModels,
    "nodes": Nodes,
    "racks": Racks,
    "blocks": Blocks,
    "pods": Pods,
    "capacity": CapacityResource,
    "usage": UsageResource,
    "ticks": Ticks,
    "events": Events,
    "policy": PolicyVersions,
    "tokens": Tokens,
}.items():
    router.register(name, resource, basename=name)

v1 = format_suffix_patterns(router.urls, allowed=["json", "csv"])

urlpatterns = [
    path("v1/", include(v1)),
    path("schema/", SchemaFile.as_view(), name="api-schema"),
    path("docs/", Docs.as_view(), name="api-docs"),
    re_path(r"^.*$", nothing_here),
]
