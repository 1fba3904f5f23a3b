"""A large cluster under load: gangs of all sizes on every node, and a long queue behind them. Seeded."""

import math
import random
from datetime import datetime, timedelta
from typing import Any

from cluster.imports.loader import cluster_from
from cluster.models import Job, JobState, Tier
from cluster.services.import_cluster import import_cluster
from fleet.models import GpuModel
from tenancy.models import Tenant, User

MODEL, NODE_GPUS = "h100", 8
PODS, BLOCKS, RACK_NODES = 10, 5, 5
ORGANISATIONS, TEAMS = 4, 5
SIZES = {8: 30, 16: 25, 32: 20, 64: 12, 128: 8, 256: 4, 512: 1}
"""GPUs of a gang: its weight"""
TIERS = {Tier.PRODUCTION: 10, Tier.RESEARCH: 60, Tier.BEST_EFFORT: 30}
MEDIAN_S, SIGMA = 3600.0, 1.2
"""of a gang's run time, lognormal"""
SAID = "8 to 512 GPUs a gang, 20 teams of 4 organisations, 3 tiers"


def description(nodes: int) -> dict[str, Any]:
    """10 pods of 5 blocks, nodes of 8 GPUs shared out evenly; 4 organisations of 5 teams own all of it."""
    racks = math.ceil(nodes / RACK_NODES)
    blocks = [[] for _ in range(PODS * BLOCKS)]
    for number in range(nodes):
        blocks[number * len(blocks) // nodes].append(number)
    guarantee = nodes * NODE_GPUS // (ORGANISATIONS * TEAMS)
    return {
        "name": "Bench",
        "gpu_models": [{"name": MODEL}],
        "racks": [{"name": f"r[0001-{racks:04d}]"}],
        "pods": [
            {
                "name": f"pod-{p:02d}",
                "blocks": [
                    _block(p * BLOCKS + b, blocks[p * BLOCKS + b])
                    for b in range(BLOCKS)
                    if blocks[p * BLOCKS + b]
                ],
            }
            for p in range(PODS)
            if any(blocks[p * BLOCKS : (p + 1) * BLOCKS])
        ],
        "tenants": [
            {
                "name": f"org-{o}",
                "tenants": [
                    {"name": f"team-{o}{t}", "entitlement": {MODEL: guarantee}} for t in range(TEAMS)
                ],
            }
            for o in range(ORGANISATIONS)
        ],
        "users": [{"name": "bench", "roles": [{"role": "cluster_owner"}]}],
    }


def _block(number: int, nodes: list[int]) -> dict[str, Any]:
    entries = [
        {
            "name": f"n{n + 1:05d}",
            "gpu_model": MODEL,
            "gpus": NODE_GPUS,
            "rack": f"r{n // RACK_NODES + 1:04d}",
        }
        for n in nodes
    ]
    return {"name": f"block-{number:02d}", "nodes": entries}


class Load:
    """Draws gangs and keeps the queue at its length."""

    def __init__(self, seed: int = 1) -> None:
        self.rng = random.Random(seed)
        self.owner = User.objects.get(username="bench")
        self.model = GpuModel.objects.get(name=MODEL)
        self.teams = list(Tenant.objects.filter(name__startswith="team-").order_by("name"))

    def fill_queue(self, length: int, at: datetime) -> None:
        """Submit so many gangs that `length` are pending."""
        missing = length - Job.objects.filter(state=JobState.PENDING).count()
        Job.objects.bulk_create((self._gang(at) for _ in range(missing)), batch_size=500)

    def _gang(self, at: datetime) -> Job:
        rng = self.rng
        gpus = rng.choices(list(SIZES), SIZES.values())[0]
        tier = rng.choices(list(TIERS), TIERS.values())[0]
        work_s = min(max(300.0, rng.lognormvariate(math.log(MEDIAN_S), SIGMA)), 7 * 86_400.0)
        return Job(
            name=f"gang-{gpus}",
            tenant=rng.choice(self.teams),
            owner=self.owner,
            tier=tier,
            gpus=gpus,
            gpu_model=self.model,
            locality_required="block" if gpus <= 64 and rng.random() < 0.2 else "cluster",
            expected_duration_s=round(work_s * rng.uniform(1.0, 2.0)),
            preemptible=tier != Tier.PRODUCTION,
            checkpoint_interval_s=1800,
            checkpoint_cost_s=60,
            submitted_at=at,
            queued_at=at - timedelta(seconds=rng.uniform(0.0, 3600.0)),
            workload={"work_s": round(work_s)},
        )


def build(nodes: int, at: datetime) -> Load:
    import_cluster(cluster_from(description(nodes), "bench").description, now=at, source="bench")
    return Load()
