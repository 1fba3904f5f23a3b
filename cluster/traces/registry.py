"""The formats by name, and finding out which one a file has."""

from collections.abc import Callable
from pathlib import Path

from cluster.traces import helios, helios_recoded, openb, philly, philly_log, plain
from cluster.traces.source import header_of, is_json
from cluster.traces.trace import Trace, TraceError

Reader = Callable[[Path], Trace]


def _read_philly(path: Path) -> Trace:
    return philly_log.read_log(path) if is_json(path) else philly.read_reduction(path)


def _read_helios(path: Path) -> Trace:
    recoded = "num_chips" in header_of(path)
    return helios_recoded.read_cut(path) if recoded else helios.read_log(path)


FORMATS: dict[str, Reader] = {
    "philly": _read_philly,
    "helios": _read_helios,
    "openb": openb.read_pods,
    "csv": plain.read_csv,
}

# Columns by which a file is recognised, the most particular first.
_SIGNS: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset(openb.COLUMNS), "openb"),
    (frozenset(philly.COLUMNS), "philly"),
    (frozenset(helios_recoded.COLUMNS), "helios"),
    (frozenset(helios.COLUMNS), "helios"),
    (frozenset(plain.COLUMNS), "csv"),
)


def detect_format(path: Path | str) -> str:
    """The name of the format whose columns the header has. Raises TraceError listing what is known."""
    path = Path(path)
    if is_json(path):
        return "philly"
    columns = set(header_of(path))
    for signs, name in _SIGNS:
        if signs <= columns:
            return name
    known = "; ".join(f"{name} ({', '.join(sorted(signs))})" for signs, name in _SIGNS)
    problem = f"no known format has the columns {', '.join(sorted(columns)) or '(none)'}"
    raise TraceError(str(path), problem, line=1, allowed=known)


def read_trace(path: Path | str, format: str | None = None) -> Trace:
    """The jobs of a trace file (.csv, .json, either with .gz). Without a format it is found by the header.

    Raises TraceError naming file, line, column, value and what is allowed.
    """
    path = Path(path)
    name = format or detect_format(path)
    if name not in FORMATS:
        raise TraceError(str(path), f"unknown format '{name}'", allowed=", ".join(FORMATS))
    return FORMATS[name](path)
