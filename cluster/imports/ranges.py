"""Names with ranges: gpu[001-128], r[1-2]n[01-08], gpu[001-004,009]."""

import re
from itertools import product

MOST_NAMES = 100_000
_PIECE = re.compile(r"\[([^\[\]]*)\]|([^\[\]]+)")
_SPAN = re.compile(r"^(\d+)(?:-(\d+))?$")


def expand(text: str) -> list[str]:
    """All names that the text stands for, in order. Raises ValueError saying what is wrong with it."""
    pieces = list(_PIECE.finditer(text))
    if not text or "".join(piece.group(0) for piece in pieces) != text:
        raise ValueError(f"'{text}' is not a name or a range with closed brackets")
    parts = [[piece.group(2)] if piece.group(2) else _numbers(piece.group(1), text) for piece in pieces]
    total = 1
    for part in parts:
        total *= len(part)
    if total > MOST_NAMES:
        raise ValueError(f"'{text}' stands for {total:,} names; {MOST_NAMES:,} are the most")
    return ["".join(chosen) for chosen in product(*parts)]


def _numbers(inside: str, text: str) -> list[str]:
    """'001-003,007' as 001, 002, 003, 007: as wide as the range's first number is written."""
    found: list[str] = []
    for span in inside.split(","):
        match = _SPAN.match(span.strip())
        if match is None:
            raise ValueError(f"'[{inside}]' in '{text}' is not a range such as [001-128] or [1,4,7-9]")
        first, last = match.group(1), match.group(2) or match.group(1)
        if int(last) < int(first):
            raise ValueError(f"the range {span.strip()} in '{text}' goes backwards")
        if int(last) - int(first) >= MOST_NAMES:
            raise ValueError(f"the range {span.strip()} in '{text}' is longer than {MOST_NAMES:,}")
        found += [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)]
    return found
