"""The nodes in their places. Built once for a set of nodes and shared by every tick until they change."""

from collections.abc import Iterable
from dataclasses import dataclass

from cluster.scheduler.power import PowerGrid
from cluster.scheduler.words import Locality


@dataclass(frozen=True, slots=True)
class NodeView:
    """One node. `gpus` counts those that are healthy; `usable` is false for a node that may get no work."""

    name: str
    model: str
    gpus: int
    block: str
    pod: str
    usable: bool = True
    why_not: str = ""
    rack: str = ""
    doubts: int = 0
    """Evidence against it that no gate has judged yet: it takes work, but after the others."""


class Fleet:
    """Nodes in domains: every block, every pod and the whole, each for one GPU model.

    Blocks come first, so that a domain number below `block_count` is a block.
    """

    def __init__(self, nodes: Iterable[NodeView], power: PowerGrid | None = None) -> None:
        """`power`: the limits that could bind; None where there is none."""
        self.nodes = tuple(nodes)
        self.power = power if power is not None and power.limits else None
        self.doubts = tuple(node.doubts for node in self.nodes)
        self.most_gpus = max((node.gpus for node in self.nodes), default=0)
        self._feed_points: dict[int, tuple[int, ...]] = {}
        self.installed_gpus: dict[str, int] = {}
        self.usable_gpus: dict[str, int] = {}
        self.domain_nodes: list[list[int]] = []
        self.domain_name: list[str] = []
        self.domain_blocks: list[list[int]] = []
        self.domains: dict[tuple[str, Locality], list[int]] = {}
        """(model, level) → domains, in the order in which they are named first"""
        self.within: list[tuple[int, int, int]] = []
        """node → its block, its pod and the whole"""
        self._open_domains()
        for index, node in enumerate(self.nodes):
            self._count(index, node)

    def _open_domains(self) -> None:
        known: dict[tuple[str, Locality, str], int] = {}
        for level in (Locality.BLOCK, Locality.POD, Locality.CLUSTER):
            for node in self.nodes:
                key = (node.model, level, _place(node, level))
                if key not in known:
                    known[key] = len(self.domain_name)
                    self.domain_name.append(key[2])
                    self.domain_nodes.append([])
                    self.domain_blocks.append([])
                    self.domains.setdefault((node.model, level), []).append(known[key])
            if level is Locality.BLOCK:
                self.block_count = len(self.domain_name)
        for node in self.nodes:
            block, pod, whole = (
                known[node.model, level, _place(node, level)]
                for level in (Locality.BLOCK, Locality.POD, Locality.CLUSTER)
            )
            self.within.append((block, pod, whole))

    def _count(self, index: int, node: NodeView) -> None:
        block = self.within[index][0]
        for domain in self.within[index]:
            self.domain_nodes[domain].append(index)
            if block not in self.domain_blocks[domain][-1:] and block not in self.domain_blocks[domain]:
                self.domain_blocks[domain].append(block)
        self.installed_gpus[node.model] = self.installed_gpus.get(node.model, 0) + node.gpus
        if node.usable:
            self.usable_gpus[node.model] = self.usable_gpus.get(node.model, 0) + node.gpus

    def feed_points(self, domain: int) -> tuple[int, ...]:
        """One node for each group of a domain's nodes that the same power limits apply to."""
        known = self._feed_points.get(domain)
        if known is None:
            of_node = self.power.of_node if self.power is not None else ()
            first = (
                {of_node[index]: index for index in reversed(self.domain_nodes[domain])} if of_node else {}
            )
            known = self._feed_points[domain] = tuple(sorted(first.values()))
        return known

    def at(self, model: str, level: Locality) -> list[int]:
        """The domains of a level; a single node is looked for within blocks."""
        return self.domains.get((model, Locality.BLOCK if level is Locality.NODE else level), [])

    def node_size(self, model: str) -> int:
        """GPUs of the largest node of a model; 0 if there is none."""
        return max((n.gpus for n in self.nodes if n.model == model), default=0)


def _place(node: NodeView, level: Locality) -> str:
    if level is Locality.CLUSTER:
        return "the cluster"
    return node.pod if level is Locality.POD else node.block


def members_of(gpus: int, node_gpus: int, nodes: int | None = None) -> tuple[tuple[int, int], ...]:
    """A gang of `gpus` as (nodes, GPUs on each): whole nodes and one part, or `nodes` equal ones.

    Raises ValueError when `gpus` cannot be shared out equally over `nodes`.
    """
    if nodes is not None:
        if gpus % nodes:
            raise ValueError(f"{gpus} GPUs cannot be shared equally by {nodes} nodes")
        return ((nodes, gpus // nodes),)
    if node_gpus <= 0 or gpus <= node_gpus:
        return ((1, gpus),)
    whole, rest = divmod(gpus, node_gpus)
    return ((whole, node_gpus), (1, rest)) if rest else ((whole, node_gpus),)
