"""Which datasets are where, and what each node's cache could still take."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from cluster.models import CachedDataset, Job, Run
from cluster.scheduler.needs import DatasetView, DataView
from cluster.scheduler.policy import Policy


def read_data(
    jobs: Iterable[Job],
    runs: Iterable[Run],
    placements: Mapping[int, Mapping[int, int]],
    gathering: Mapping[int, Iterable[int]],
    index_of: Mapping[int, int],
    cache_gb: Mapping[int, float],
    policy: Policy,
) -> DataView:
    """`placements`: run id → node index → GPUs. `gathering`: job id → node indexes of its target.

    What a running or gathering gang needs of a cache is not to be had; all else there can be evicted.
    """
    jobs, runs = list(jobs), list(runs)
    size_gb = _sizes([*jobs, *(run.job for run in runs)])
    if not size_gb:
        return DataView()
    holders: dict[str, set[int]] = defaultdict(set)
    for node_id, dataset in CachedDataset.objects.values_list("node_id", "dataset"):
        if dataset in size_gb and node_id in index_of:
            holders[dataset].add(index_of[node_id])
    pinned: dict[int, set[str]] = defaultdict(set)
    for run in runs:
        for index in placements.get(run.pk, ()):
            pinned[index].add(run.job.dataset)
    for job in jobs:
        for index in gathering.get(job.pk, ()):
            pinned[index].add(job.dataset)
    room_gb = {
        index: size - sum(size_gb.get(dataset) or 0.0 for dataset in pinned[index])
        for index, size in cache_gb.items()
    }
    rate = policy.staging_gb_per_s
    datasets = {
        name: DatasetView(size, frozenset(holders[name]), size / rate if size and rate > 0 else 0.0)
        for name, size in size_gb.items()
    }
    return DataView(datasets, room_gb)


def _sizes(jobs: Iterable[Job]) -> dict[str, float | None]:
    """dataset → GB, as its jobs state it; the largest where they differ, None where none does."""
    sizes: dict[str, float | None] = {}
    for job in jobs:
        if job.dataset:
            known = sizes.get(job.dataset)
            stated = job.dataset_gb
            sizes[job.dataset] = max((s for s in (known, stated) if s is not None), default=None)
    return sizes
