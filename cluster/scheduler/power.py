"""Power and cooling as linear limits over racks: what an element carries in a failure state, and may carry.

    Σ share[rack] · draw_w[rack] ≤ limit_w        for every element and every state that the policy requires

The fabric works the limits out (feeds, panels, cooling, supplies); here they only bound placements. A rack's
draw is what stands there anyway (hosts and idle GPUs) and, for each allocated GPU, what its job adds.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

Draw = float | Mapping[int, float]
"""W that each GPU adds; or, by node index, what one does there on average"""
SLACK_W = 1e-6


@dataclass(frozen=True, slots=True)
class PowerLimit:
    """What one element may carry in one state, in watts."""

    scope: str
    """"feed A of rack r12" """
    state: str
    """"normal", or what is lost: "feed B of rack r12 lost" """
    limit_w: float
    share: Mapping[str, float]
    """rack → the part of its draw that this element carries in this state"""


class PowerGrid:
    """The limits that could bind, by node. Built once for a fleet."""

    __slots__ = ("base_w", "limits", "of_node", "racks")

    def __init__(
        self,
        limits: Iterable[PowerLimit],
        racks: Sequence[str],
        base_w: Mapping[str, float],
        peak_w: Mapping[str, float | None] | None = None,
    ) -> None:
        """`racks`: of each node, by index. `base_w`: a rack's draw without any job. `peak_w`: the most that
        all jobs together could add to it; a limit that even this does not reach is left out."""
        peak_w = peak_w or {}
        self.racks = tuple(racks)
        self.limits: list[PowerLimit] = []
        self.base_w: list[float] = []
        """what each limit carries when nothing runs"""
        on_rack: dict[str, list[tuple[int, float]]] = {}
        for limit in limits:
            base = sum(share * base_w.get(rack, 0.0) for rack, share in limit.share.items())
            peaks = [(share, peak_w.get(rack)) for rack, share in limit.share.items() if share > 0]
            reached = [share * peak for share, peak in peaks if peak is not None]
            if len(reached) == len(peaks) and base + sum(reached) <= limit.limit_w:
                continue
            for rack, share in limit.share.items():
                if share > 0:
                    on_rack.setdefault(rack, []).append((len(self.limits), share))
            self.limits.append(limit)
            self.base_w.append(base)
        self.of_node = tuple(tuple(on_rack.get(rack, ())) for rack in racks)
        """node → (limit, share) of every limit on its rack"""

    def with_limits(self, limits: Sequence[PowerLimit]) -> "PowerGrid":
        """The same grid with other values for the same limits, in their order."""
        twin = object.__new__(PowerGrid)
        twin.racks, twin.of_node, twin.base_w = self.racks, self.of_node, self.base_w
        twin.limits = list(limits)
        return twin


class Power:
    """Watts left under each limit. Mutable; `copy` is cheap."""

    __slots__ = ("grid", "left_w")

    def __init__(self, grid: PowerGrid) -> None:
        self.grid = grid
        self.left_w = [limit.limit_w - base for limit, base in zip(grid.limits, grid.base_w, strict=True)]

    def copy(self) -> "Power":
        twin = object.__new__(Power)
        twin.grid, twin.left_w = self.grid, self.left_w[:]
        return twin

    def use(self, placement: Mapping[int, int], draw: Draw, times: int = 1) -> None:
        """Count these GPUs as drawing; -1 times: no longer."""
        left_w, of_node = self.left_w, self.grid.of_node
        by_node = None if isinstance(draw, float | int) else draw
        each = times * draw if by_node is None else 0.0  # type: ignore[operator]
        for index, gpus in placement.items():
            watts = gpus * (each if by_node is None else times * by_node.get(index, 0.0))
            for limit, share in of_node[index]:
                left_w[limit] -= share * watts

    def use_at(self, index: int, watts: float) -> None:
        """Count so many watts more on one node."""
        for limit, share in self.grid.of_node[index]:
            self.left_w[limit] -= share * watts

    def allows(self, index: int, watts: float) -> bool:
        """May this node draw so many watts more in every state?"""
        left_w = self.left_w
        for k, share in self.grid.of_node[index]:  # noqa: SIM110 - asked a million times in a large plan
            if share * watts > left_w[k] + SLACK_W:
                return False
        return True

    def allows_all(self, placement: Mapping[int, int], draw_w: float) -> bool:
        return self.tightest(placement, draw_w) is None

    def tightest(self, placement: Mapping[int, int], draw_w: float) -> tuple[int, float] | None:
        """(limit, W asked of it) of the one that these GPUs would exceed most; None if they exceed none."""
        asked: dict[int, float] = {}
        for index, gpus in placement.items():
            for limit, share in self.grid.of_node[index]:
                asked[limit] = asked.get(limit, 0.0) + share * gpus * draw_w
        over = [(w - self.left_w[k], k) for k, w in asked.items() if w > self.left_w[k] + SLACK_W]
        if not over:
            return None
        _, worst = max(over)
        return worst, asked[worst]

    def used_w(self, limit: int) -> float:
        return self.grid.limits[limit].limit_w - self.left_w[limit]
