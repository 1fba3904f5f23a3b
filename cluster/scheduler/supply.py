"""Free GPUs, counted so that "does it fit" costs a few additions, and placed so that gangs stay together."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cluster.scheduler.fleet import Fleet
from cluster.scheduler.needs import PLAIN, Needs
from cluster.scheduler.power import Draw, Power
from cluster.scheduler.words import Locality

Members = Sequence[tuple[int, int]]
"""(nodes, GPUs on each), largest GPUs first"""
LEVELS = (Locality.BLOCK, Locality.POD, Locality.CLUSTER)
"""from the closest; a single node is looked for within blocks"""
Placement = dict[int, int]
"""node index → GPUs"""


@dataclass(frozen=True, slots=True)
class Shortfall:
    """What a gang lacks where it lacks least: GPUs, or, where those are enough, nodes with enough of them."""

    domain: int
    node_gpus: int
    """0: GPUs are counted; else nodes with at least so many free"""
    asked: int
    found: int

    @property
    def missing(self) -> int:
        return self.asked - self.found


class Supply:
    """Free GPUs of every node, with a histogram per domain of how many nodes have how many free.

    Nodes that take no work count as having none free; one whose GPUs failed under a run has less than none,
    so that it has none to give when the run has left. `copy` is cheap; a change costs one step a node.

    Where the fleet has power limits that could bind, the watts left under them are kept as well. The counts
    do not know them: `fits` and `holds` say what could be at the most, `place` and `takes` what can.
    """

    __slots__ = ("counts", "fleet", "free", "power", "total", "width")

    def __init__(self, fleet: Fleet, free: Sequence[int], unusable_too: bool = False) -> None:
        self.fleet = fleet
        self.width = fleet.most_gpus + 1
        self.free = [max(0, f) if unusable_too or fleet.nodes[i].usable else 0 for i, f in enumerate(free)]
        self.counts = [0] * (self.width * len(fleet.domain_name))
        self.total = [0] * len(fleet.domain_name)
        self.power = Power(fleet.power) if fleet.power is not None else None
        for index, gpus in enumerate(self.free):
            for domain in fleet.within[index]:
                self.counts[domain * self.width + gpus] += 1
                self.total[domain] += gpus

    def copy(self) -> "Supply":
        twin = object.__new__(Supply)
        twin.fleet, twin.width = self.fleet, self.width
        twin.free, twin.counts, twin.total = self.free[:], self.counts[:], self.total[:]
        twin.power = self.power.copy() if self.power is not None else None
        return twin

    def shift(self, index: int, change: int) -> None:
        """Change what one node has free, whether or not it takes work."""
        before = self.free[index]
        after = self.free[index] = before + change
        if before < 0 or after < 0:
            before, after = max(0, before), max(0, after)
        change = after - before
        counts, total, width = self.counts, self.total, self.width
        for domain in self.fleet.within[index]:
            base = domain * width + before
            counts[base] -= 1
            counts[base + change] += 1
            total[domain] += change

    def take(self, placement: Mapping[int, int], draw: Draw = 0.0) -> None:
        for index, gpus in placement.items():
            self.shift(index, -gpus)
        self._draw(placement, draw, 1)

    def give(self, placement: Mapping[int, int], draw: Draw = 0.0) -> None:
        """Give GPUs back; those of nodes that take no work stay out of reach, but they draw no more."""
        for index, gpus in placement.items():
            if self.fleet.nodes[index].usable:
                self.shift(index, gpus)
        self._draw(placement, draw, -1)

    def withdraw(self, placement: Mapping[int, int], draw: Draw = 0.0) -> None:
        """Undo a `give`."""
        for index, gpus in placement.items():
            if self.fleet.nodes[index].usable:
                self.shift(index, -gpus)
        self._draw(placement, draw, 1)

    def _draw(self, placement: Mapping[int, int], draw: Draw, times: int) -> None:
        if self.power is not None and draw:
            self.power.use(placement, draw, times)

    def free_gpus(self, model: str) -> int:
        return sum(self.total[domain] for domain in self.fleet.at(model, Locality.CLUSTER))

    def nodes_with(self, gpus: int, domain: int) -> int:
        """How many nodes of a domain have at least so many GPUs free."""
        return sum(self.counts[domain * self.width + min(gpus, self.width) : (domain + 1) * self.width])

    def holds(self, members: Members, domain: int) -> bool:
        """Does this domain have distinct nodes for all members?"""
        asked = 0
        for count, gpus in members:
            asked += count
            if self.total[domain] < gpus or self.nodes_with(gpus, domain) < asked:
                return False
        return True

    def fits(self, members: Members, model: str, level: Locality) -> bool:
        """Could the gang be placed now, whole, within one domain of the level?"""
        if level is Locality.NODE and (len(members) > 1 or members[0][0] > 1):
            return False
        whole = self.fleet.at(model, Locality.CLUSTER)
        if not whole or not self.holds(members, whole[0]):
            return False
        return level is Locality.CLUSTER or any(self.holds(members, d) for d in self.fleet.at(model, level))

    def shortfall(self, members: Members, domains: Iterable[int], one_node: bool = False) -> Shortfall | None:
        """What is short in the one of these domains that comes nearest; None if one of them holds the gang.

        `one_node`: all members are asked to stand on one node, which more than one never can.
        """
        asked = sum(count * gpus for count, gpus in members)
        nearest: tuple[tuple[int, int], Shortfall] | None = None
        for domain in domains:
            short = self._short_in(members, domain, asked, one_node)
            if short is None:
                return None
            rank = (short.missing * max(1, short.node_gpus), domain)
            if nearest is None or rank < nearest[0]:
                nearest = (rank, short)
        return nearest[1] if nearest else Shortfall(-1, 0, asked, 0)

    def _short_in(self, members: Members, domain: int, asked: int, one_node: bool) -> Shortfall | None:
        if one_node and sum(count for count, _ in members) > 1:
            return Shortfall(domain, members[-1][1], sum(count for count, _ in members), 1)
        if self.total[domain] < asked:
            return Shortfall(domain, 0, asked, self.total[domain])
        nodes = 0
        for count, gpus in members:
            nodes += count
            if self.nodes_with(gpus, domain) < nodes:
                return Shortfall(domain, gpus, nodes, self.nodes_with(gpus, domain))
        return None

    def count(self, short: Shortfall) -> int:
        """What this supply has of what is short elsewhere."""
        if short.domain < 0:
            return 0
        return self.nodes_with(short.node_gpus, short.domain) if short.node_gpus else self.total[short.domain]

    def place(
        self,
        members: Members,
        model: str,
        required: Locality,
        within: int | None = None,
        needs: Needs = PLAIN,
    ) -> Placement | None:
        """The most compact placement within the required locality (and domain, if one is named), or None.

        The smallest domain that can hold the gang is used up first, so that large ones stay whole;
        a part of a node goes where it leaves the least. Nodes in doubt, and those that the gang avoids, are
        taken last; those that hold its data first.

        Under power limits domains and nodes are tried in that order, each node as far as its rack's limits
        allow. Limits of racks that share several elements can be met so in all but contrived cases.
        """
        if not self.fits(members, model, required):
            return None
        tried: bool | None = None
        for level in LEVELS[: LEVELS.index(required) + 1] if required in LEVELS else LEVELS[:1]:
            able = [d for d in self._domains(model, level, within) if self.holds(members, d)]
            if not able:
                continue
            if self._is_plain(needs):
                return self._fill(members, min(able, key=lambda d: self._left_over(members, d)))
            if tried is None:  # what the whole cannot take no part of it can
                tried = self._could_take(members, model, required, within, needs)
            if not tried:
                return None
            able.sort(key=lambda d: (self._unstaged(members, d, needs), self._left_over(members, d)))
            for domain in able:
                placement = self._fill_checked(members, domain, needs)
                if placement is not None:
                    return placement
        return None

    def _could_take(
        self, members: Members, model: str, required: Locality, within: int | None, needs: Needs
    ) -> bool:
        """Is there power and data for it at the widest that is allowed? Asked first: a "no" must be cheap."""
        if required is not Locality.CLUSTER or self.power is None:
            return True
        widest = self._domains(model, Locality.CLUSTER, within)
        return any(self._fill_checked(members, d, needs) is not None for d in widest)

    def takes(self, members: Members, domain: int, needs: Needs = PLAIN) -> bool:
        """Can this domain take the gang, whatever else it needs included?"""
        if not self.holds(members, domain):
            return False
        return self._is_plain(needs) or self._fill_checked(members, domain, needs) is not None

    def _is_plain(self, needs: Needs) -> bool:
        """Is all that is asked for free GPUs?"""
        return needs is PLAIN or not (
            needs.barred or needs.near or needs.avoids or (needs.draw_w and self.power is not None)
        )

    def _unstaged(self, members: Members, domain: int, needs: Needs) -> int:
        """How many members at least would stand on nodes without the gang's data."""
        if not needs.near:
            return 0
        least = members[-1][1]
        nodes = self.fleet.domain_nodes[domain]
        near = sum(1 for i in nodes if i in needs.near and self.free[i] >= least and i not in needs.barred)
        return max(0, sum(count for count, _ in members) - near)

    def _fill_checked(self, members: Members, domain: int, needs: Needs) -> Placement | None:
        """As `_fill`, node by node: only nodes that meet the needs, as long as power allows."""
        power = self.power if needs.draw_w else None
        if power is not None and not self._any_power(domain, members[-1][1] * needs.draw_w):
            return None
        placement: Placement = {}
        drawn: list[tuple[int, float]] = []
        found = self._fill_members(members, domain, needs, placement, drawn)
        if power is not None:
            for index, watts in drawn:
                power.use_at(index, -watts)
        return placement if found else None

    def _fill_members(
        self,
        members: Members,
        domain: int,
        needs: Needs,
        placement: Placement,
        drawn: list[tuple[int, float]],
    ) -> bool:
        """Fill `placement`; the power that it takes is counted and noted in `drawn`. False: not all fit."""
        power = self.power if needs.draw_w else None
        for count, gpus in members:
            watts, left = gpus * needs.draw_w, count
            blocks = self._open_blocks(domain, gpus, needs)
            while left and blocks:
                block = _next_checked(blocks, left)
                if power is not None and not self._any_power(block, watts):
                    continue
                for index in self._able(block, gpus, needs):
                    if left and index not in placement and (power is None or power.allows(index, watts)):
                        placement[index] = gpus
                        left -= 1
                        if power is not None:
                            power.use_at(index, watts)
                            drawn.append((index, watts))
            if left:
                return False
        return True

    def _any_power(self, domain: int, watts: float) -> bool:
        """May any node of the domain draw so much? Nodes on the same elements are asked once."""
        power = self.power
        assert power is not None
        return any(power.allows(index, watts) for index in self.fleet.feed_points(domain))

    def _open_blocks(self, domain: int, gpus: int, needs: Needs) -> list[tuple[int, int, int]]:
        """(nodes with the gang's data, open nodes, block) of the blocks that may take a member, in order."""
        found = [(0, n, b) for b in self.fleet.domain_blocks[domain] if (n := self.nodes_with(gpus, b))]
        if needs.near:
            near: dict[int, int] = {}
            for index in needs.near:
                if self.free[index] >= gpus and index not in needs.barred:
                    block = self.fleet.within[index][0]
                    near[block] = near.get(block, 0) + 1
            found = [(near.get(b, 0), n, b) for _, n, b in found]
        found.sort(key=lambda e: (e[0], e[1], -e[2]))
        return found

    def _able(self, block: int, gpus: int, needs: Needs) -> list[int]:
        """Nodes of a block that meet the needs, in the order in which they are taken."""
        doubts, free = self.fleet.doubts, self.free
        able = [i for i in self.fleet.domain_nodes[block] if free[i] >= gpus and i not in needs.barred]
        able.sort(key=lambda i: (i in needs.avoids, doubts[i], i not in needs.near, free[i], i))
        return able

    def _domains(self, model: str, level: Locality, within: int | None) -> Sequence[int]:
        every = self.fleet.at(model, level)
        if within is None:
            return every
        return [d for d in every if within in self.fleet.within[self.fleet.domain_nodes[d][0]]]

    def _left_over(self, members: Members, domain: int) -> tuple[int, int, int]:
        """How much a domain has to spare: nodes that could take a member, then GPUs."""
        return (self.nodes_with(members[0][1], domain), self.total[domain], domain)

    def _fill(self, members: Members, domain: int) -> Placement:
        """Take nodes from as few blocks as possible."""
        placement: Placement = {}
        for count, gpus in members:
            blocks = self.fleet.domain_blocks[domain]
            open_in = {b: n for b in blocks if (n := self._open_nodes(b, gpus, placement))}
            left = count
            while left:
                block = self._next_block(open_in, left)
                del open_in[block]
                for index in self._best_fitting(block, gpus, left, placement):
                    placement[index] = gpus
                    left -= 1
        return placement

    def _next_block(self, open_in: Mapping[int, int], left: int) -> int:
        """The tightest block that finishes the gang, else the one with most nodes."""
        finishing = [b for b, n in open_in.items() if n >= left]
        if finishing:
            return min(finishing, key=lambda b: (open_in[b], self.total[b], b))
        return max(open_in, key=lambda b: (open_in[b], -b))

    def _open_nodes(self, block: int, gpus: int, taken: Placement) -> int:
        in_use = sum(1 for i in taken if self.fleet.within[i][0] == block and self.free[i] >= gpus)
        return self.nodes_with(gpus, block) - in_use

    def _best_fitting(self, block: int, gpus: int, most: int, taken: Placement) -> list[int]:
        """Up to `most` nodes of a block, those first that are left with the least."""
        able = [i for i in self.fleet.domain_nodes[block] if self.free[i] >= gpus and i not in taken]
        able.sort(key=lambda i: (self.fleet.doubts[i], self.free[i], i))
        return able[:most]


def _next_checked(blocks: list[tuple[int, int, int]], left: int) -> int:
    """Take out the block with most of the data; among equals the tightest that finishes, else the largest."""
    near = blocks[-1][0]
    place = bisect_left(blocks, (near, left), key=lambda e: (e[0], e[1]))
    return blocks.pop(min(place, len(blocks) - 1))[2]
