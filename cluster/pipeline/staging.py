"""The caches of the nodes: what a gang that became ready has staged there, and what gave way for it."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

from cluster.models import Allocation, CachedDataset, Run, RunState
from fleet.models import Node


def note_staged(runs: Iterable[Run], at: datetime) -> None:
    """These runs are ready, so their data is on their nodes. What has been unused for longest is evicted."""
    staged = {run.pk: run.job for run in runs if run.job.dataset}
    if not staged:
        return
    held = Allocation.objects.filter(run_id__in=staged, released_at=None)
    wanted: dict[int, dict[str, float]] = defaultdict(dict)
    for run_id, node_id in held.order_by().values_list("run_id", "node_id").distinct():
        wanted[node_id][staged[run_id].dataset] = staged[run_id].dataset_gb or 0.0
    for node_id, datasets in wanted.items():
        for dataset, size_gb in datasets.items():
            CachedDataset.objects.update_or_create(
                node_id=node_id,
                dataset=dataset,
                defaults={"size_gb": size_gb, "used_at": at},
                create_defaults={"size_gb": size_gb, "used_at": at, "staged_at": at},
            )
    _evict(wanted)


def _evict(nodes: Iterable[int]) -> None:
    """Until each cache is within its size again; never what something there runs on."""
    sizes = dict(Node.objects.filter(pk__in=list(nodes)).values_list("pk", "cache_gb"))
    running = Allocation.objects.filter(released_at=None, node_id__in=sizes).exclude(
        run__state=RunState.ENDED
    )
    in_use = set(running.values_list("node_id", "run__job__dataset").distinct())
    entries = defaultdict(list)
    for entry in CachedDataset.objects.filter(node_id__in=sizes).order_by("used_at", "id"):
        entries[entry.node_id].append(entry)
    gone: list[int] = []
    for node_id, size_gb in sizes.items():
        if size_gb is None:
            continue
        over = sum(entry.size_gb for entry in entries[node_id]) - size_gb
        for entry in entries[node_id]:
            if over > 0 and (node_id, entry.dataset) not in in_use:
                gone.append(entry.pk)
                over -= entry.size_gb
    CachedDataset.objects.filter(pk__in=gone).delete()


def nodes_to_stage(run: Run) -> tuple[str, ...]:
    """The run's nodes on which its dataset has yet to be staged; all of them if nothing is known."""
    if not run.job.dataset:
        return ()
    held = Allocation.objects.filter(run=run, released_at=None)
    names = dict(held.values_list("node_id", "node__name").distinct())
    there = CachedDataset.objects.filter(dataset=run.job.dataset, node_id__in=names)
    for node_id in there.values_list("node_id", flat=True):
        names.pop(node_id)
    return tuple(sorted(names.values()))
