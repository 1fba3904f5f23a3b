"""The demonstration's cluster, in the form of a description file. It stands for no real site.

Draws from public figures: H100 SXM 700 W and A100 SXM 400 W at their limit (NVIDIA data sheets), DGX H100
10.2 kW and DGX A100 6.5 kW a system; the host without its GPUs is the difference. Idle and usual draws and
the rack limits are assumed. Prices: $2 and $1.20 a GPU-hour, the order of public cloud offers.
"""

from typing import Any

from cluster.demo.teams import TEAMS

H100, A100 = "h100", "a100"


def demo_description() -> dict[str, Any]:
    """64 nodes of 8 GPUs: 48 with H100 over two pods, 16 with A100; two organisations with five teams."""
    return {
        "name": "Demonstration cluster (generated)",
        "gpu_models": [
            _model(H100, 80, idle_w=70, expected_w=600, maximum_w=700, usd="2.00"),
            _model(A100, 80, idle_w=55, expected_w=340, maximum_w=400, usd="1.20"),
        ],
        "power_panels": [{"name": "panel-1"}, {"name": "panel-2"}],
        "racks": [
            {"name": "a[01-08]", "row": "A", "position": 1, "power_limit_w": 45_000, "feeds": _feeds(80)},
            # These racks were wired for smaller nodes: with one feed lost four full ones are too many.
            {"name": "b[01-04]", "row": "B", "position": 1, "power_limit_w": 45_000, "feeds": _feeds(63)},
            {"name": "b[05-08]", "row": "B", "position": 5, "power_limit_w": 30_000, "feeds": _feeds(63)},
        ],
        "cooling_zones": [
            {"name": "hall-a", "racks": ["a[01-08]"], "units": _coolers(6, 70_000)},
            {"name": "hall-b", "racks": ["b[01-08]"], "units": _coolers(5, 65_000)},
        ],
        "pods": [
            {"name": "pod-1", "blocks": [_block(n, H100, "a", 2 * n - 1, 4600) for n in range(1, 5)]},
            {
                "name": "pod-2",
                "blocks": [
                    _block(5, H100, "b", 1, 4600),
                    _block(6, H100, "b", 3, 4600),
                    _block(7, A100, "b", 5, 3300),
                    _block(8, A100, "b", 7, 3300),
                ],
            },
        ],
        "tenants": _tenants(),
        "users": _users(),
        "policy": {"reserve_after_s": 600, "max_grace_s": 600, "activity_fresh_s": 900},
    }


def _model(
    name: str, memory_gb: int, *, idle_w: int, expected_w: int, maximum_w: int, usd: str
) -> dict[str, Any]:
    return {
        "name": name,
        "memory_gb": memory_gb,
        "idle_w": idle_w,
        "expected_w": expected_w,
        "maximum_w": maximum_w,
        "usd_per_gpu_hour": float(usd),
    }


def _feeds(amperage_a: int) -> list[dict[str, Any]]:
    """Two feeds from two panels, so that either may fail."""
    return [
        {"name": name, "panel": panel, "voltage_v": 415.0, "amperage_a": float(amperage_a)}
        for name, panel in (("A", "panel-1"), ("B", "panel-2"))
    ]


def _coolers(count: int, capacity_w: int) -> list[dict[str, Any]]:
    return [{"name": f"crah-{n}", "capacity_w": capacity_w} for n in range(1, count + 1)]


def _block(number: int, model: str, row: str, rack: int, base_w: int) -> dict[str, Any]:
    """Eight nodes in two neighbouring racks."""
    first = (number - 1) * 8 + 1
    nodes = {
        "name": f"{model}-[{first:03d}-{first + 7:03d}]",
        "gpu_model": model,
        "gpus": 8,
        "rack": f"{row}[{rack:02d}-{rack + 1:02d}]",
        "base_w": base_w,
        "cache_gb": 8000.0,
    }
    return {"name": f"block-{number}", "nodes": [nodes]}


def _tenants() -> list[dict[str, Any]]:
    """Entitlement and demand differ: language asks for more than it owns, robotics and science for less."""
    return [
        {
            "name": "perception",
            "title": "Perception",
            "weight": 1,
            "entitlement": {H100: 192, A100: 80},
            "tenants": [
                {"name": "vision", "title": "Vision", "weight": 2, "entitlement": {H100: 96, A100: 32}},
                {
                    "name": "speech",
                    "title": "Speech",
                    "entitlement": {H100: 56, A100: 32},
                    "borrowing_limit": {H100: 64, A100: 32},
                },
                {"name": "robotics", "title": "Robotics", "entitlement": {H100: 40, A100: 16}},
            ],
        },
        {
            "name": "discovery",
            "title": "Discovery",
            "weight": 1,
            "entitlement": {H100: 192, A100: 48},
            "tenants": [
                {"name": "language", "title": "Language", "weight": 2, "entitlement": {H100: 128, A100: 16}},
                {
                    "name": "science",
                    "title": "Science",
                    "entitlement": {H100: 64, A100: 32},
                    "lending_limit": {H100: 48, A100: 32},
                },
            ],
        },
    ]


def _users() -> list[dict[str, Any]]:
    fixed = [
        {"name": "owner", "full_name": "Demo Owner", "roles": [{"role": "cluster_owner"}]},
        {
            "name": "admin-vision",
            "full_name": "Demo Admin of Vision",
            "roles": [{"role": "tenant_admin", "tenant": "vision"}],
        },
        {"name": "release", "full_name": "Demo Release Owner", "roles": [{"role": "release_owner"}]},
        {"name": "viewer", "full_name": "Demo Viewer", "roles": [{"role": "viewer"}]},
    ]
    people = [
        {
            "name": person,
            "full_name": person.capitalize(),
            "roles": [{"role": "researcher", "tenant": team.name}],
        }
        for team in TEAMS
        for person in team.people
    ]
    return fixed + people
