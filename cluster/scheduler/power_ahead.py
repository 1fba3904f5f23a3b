"""Watts in time: what each power limit will have left as the runs under it end."""

from collections.abc import Iterable, Mapping, Sequence

from cluster.scheduler.power import Power

Freed = tuple[float, Mapping[int, int], float]
"""(time, placement, W for each of its GPUs) of a run that ends"""


class PowerAhead:
    """A sweep forward through the ends of runs. `at` never goes back."""

    def __init__(self, power: Power, frees: Iterable[Freed]) -> None:
        self.power = power.copy()
        self.frees = sorted((f for f in frees if f[2]), key=lambda f: f[0])
        self._next = 0

    @property
    def moments(self) -> Sequence[float]:
        """When something is freed, soonest first."""
        return [at for at, _, _ in self.frees[self._next :]]

    def at(self, moment_s: float) -> Power:
        """The power left at this moment; what is used of it is remembered."""
        while self._next < len(self.frees) and self.frees[self._next][0] <= moment_s:
            _, placement, draw_w = self.frees[self._next]
            self.power.use(placement, draw_w, times=-1)
            self._next += 1
        return self.power

    def allowed_from(self, placement: Mapping[int, int], draw_w: float, from_s: float) -> float | None:
        """The first moment at which all of it may draw so much; None if that never comes."""
        for moment_s in [from_s, *(m for m in self.moments if m > from_s)]:
            if self.at(moment_s).allows_all(placement, draw_w):
                return moment_s
        return None

    def soonest(
        self, ready: Sequence[tuple[float, int]], count: int, gpus: int, draw_w: float
    ) -> tuple[list[int], float] | None:
        """The first `count` of the nodes, ready at these times (in the order to take them), that may draw.

        Gives them with the moment at which the last may; None if there are not so many.
        """
        chosen: list[int] = []
        waiting: list[int] = []
        coming = list(ready)
        moments = sorted({at for at, _ in ready} | set(self.moments))
        for moment_s in moments:
            power = self.at(moment_s)
            while coming and coming[0][0] <= moment_s:
                waiting.append(coming.pop(0)[1])
            for index in list(waiting):
                if power.allows(index, gpus * draw_w):
                    power.use({index: gpus}, draw_w)
                    waiting.remove(index)
                    chosen.append(index)
                    if len(chosen) == count:
                        return chosen, moment_s
        return None
