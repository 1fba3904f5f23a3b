"""The runs of one node: now and before."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.db.models import Count, Max, Min

from cluster.models import Allocation, Run
from fleet.models import Node


@dataclass(frozen=True)
class Stay:
    """One run's time on the node. `until` is None while it is there."""

    run: Run
    gpus: int
    since: datetime
    until: datetime | None


class NodeRuns:
    def __init__(self, node: Node) -> None:
        self.node = node

    @cached_property
    def now(self) -> list[Stay]:
        return self._stays(is_open=True, limit=64)

    @cached_property
    def before(self) -> list[Stay]:
        return self._stays(is_open=False, limit=20)

    def _stays(self, *, is_open: bool, limit: int) -> list[Stay]:
        rows = list(
            Allocation.objects.filter(node=self.node, released_at__isnull=is_open)
            .order_by()
            .values("run_id")
            .annotate(n=Count("id"), since=Min("started_at"), until=Max("released_at"))
            .order_by("-since", "-run_id")[:limit]
        )
        runs = Run.objects.select_related("job", "job__tenant", "job__owner").in_bulk(
            [row["run_id"] for row in rows]
        )
        return [Stay(runs[row["run_id"]], row["n"], row["since"], row["until"]) for row in rows]
