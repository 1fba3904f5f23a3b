"""The additive bar: segments in per cent of the whole, for an SVG without any style attribute."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_LABEL_FROM_PERCENT = 5.5
"""A narrower segment has no room for its number; the legend has it."""


@dataclass(frozen=True)
class Segment:
    """`x` and `width` in per cent of the bar."""

    state: str
    count: int
    x: float
    width: float

    @property
    def label_x(self) -> float:
        return self.x + 0.8

    @property
    def is_labelled(self) -> bool:
        return self.width >= _LABEL_FROM_PERCENT


def segments(counts: Mapping[str, int], whole: int | None = None) -> list[Segment]:
    """Each count as a segment after the one before, empty ones too; `whole` defaults to their sum."""
    total = sum(counts.values()) if whole is None else whole
    found, at = [], 0.0
    for state, count in counts.items():
        width = 100 * count / total if total else 0.0
        found.append(Segment(str(state), count, round(at, 3), round(width, 3)))
        at += width
    return found


@dataclass(frozen=True)
class Meter:
    """A thin bar of named parts against a scale, with an optional mark on it. In per cent."""

    parts: Sequence[Segment]
    mark: float | None = None


def meter(parts: Mapping[str, int], scale: int, mark: int | None = None) -> Meter:
    return Meter(
        segments(parts, max(scale, sum(parts.values()), 1)),
        None if mark is None else round(100 * mark / max(scale, sum(parts.values()), 1), 3),
    )
