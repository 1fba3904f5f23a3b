"""Who may search for victims in a tick: a search that fails costs most, and 1,000 shapes may want one."""

from zlib import crc32


class SearchBudget:
    """How many shapes may still search in this tick.

    Most of the budget goes by order. The rest goes round: each other shape has its turn once in some ticks,
    so that none is kept from a search that would succeed by others whose search fails again and again.
    """

    def __init__(self, most: int, shapes: int, now_s: float) -> None:
        self.left = most
        round_robin = most // 4
        self.by_order = most if shapes <= most else most - round_robin
        self.rounds = max(1, -(-(shapes - self.by_order) // max(1, round_robin)))
        self.turn = crc32(repr(now_s).encode()) % self.rounds
        """another at every moment, yet the same for the same world"""
        self.asked = 0

    def spend(self) -> bool:
        """May the next shape search? Counts it, and the search if it may."""
        self.asked += 1
        has_turn = self.asked <= self.by_order or self.asked % self.rounds == self.turn
        if not has_turn or self.left <= 0:
            return False
        self.left -= 1
        return True
