"""The timeline of gangs as a Plotly figure: one row per gang, one trace per kind of band, a line at now."""

from collections.abc import Mapping
from datetime import datetime, tzinfo
from html import escape
from typing import Any

from cluster.selectors.timeline import Band, Lane, Timeline

KINDS: Mapping[str, Mapping[str, Any]] = {
    "waiting": {"name": "waiting", "color": "--quiet-soft", "line": "--line-strong"},
    "starting": {"name": "starting", "color": "--starting"},
    "running": {"name": "running", "color": "--busy"},
    "stopping": {"name": "stopping", "color": "--stranded"},
    "lost": {"name": "failed", "color": "--idle_allocated"},
    "expected": {"name": "expected to run on", "color": "--busy", "opacity": 0.28},
    "gathering": {"name": "gathering nodes", "color": "--reserved", "hatch": "."},
    "reserved": {"name": "reserved", "color": "--reserved", "hatch": "/"},
}
_ROW_PX = 22
_MOST_LETTERS = 26

Row = tuple[int, Lane, Band]


class _Drawing:
    """Bars with a base: Plotly measures their length on a date axis in milliseconds."""

    def __init__(self, timeline: Timeline, zone: tzinfo) -> None:
        self.timeline, self.zone = timeline, zone

    def clock(self, moment: datetime) -> str:
        """Plotly knows no zones: it gets the reader's clock, and the axis names the zone."""
        return moment.astimezone(self.zone).strftime("%Y-%m-%dT%H:%M:%S")

    def traces(self) -> list[dict[str, Any]]:
        rows: dict[str, list[Row]] = {kind: [] for kind in KINDS}
        for place, lane in enumerate(self.timeline.lanes):
            for band in lane.bands:
                rows[band.kind].append((place, lane, band))
        return [self._trace(KINDS[kind], found) for kind, found in rows.items() if found]

    def _trace(self, look: Mapping[str, Any], rows: list[Row]) -> dict[str, Any]:
        return {
            "type": "bar",
            "orientation": "h",
            "name": look["name"],
            "y": [place for place, _, _ in rows],
            "base": [self.clock(band.start) for _, _, band in rows],
            "x": [(self._end(band) - band.start).total_seconds() * 1000 for _, _, band in rows],
            "width": 0.68,  # else each kind of band gets a width of its own
            "marker": _marker(look),
            "customdata": [{"href": f"/jobs/{lane.job_id}/"} for _, lane, _ in rows],
            "hovertext": [self._hover(look["name"], lane, band) for _, lane, band in rows],
            "hoverinfo": "text",
            "textposition": "none",
        }

    def _end(self, band: Band) -> datetime:
        return min(band.end, self.timeline.end)

    def _hover(self, name: str, lane: Lane, band: Band) -> str:
        times = f"{self.clock(band.start)[11:16]}–{self.clock(self._end(band))[11:16]}"
        lines = [
            f"{escape(lane.label)}: {lane.gpus} GPUs, {escape(lane.tenant)}",
            f"{name} {times}",
            escape(band.note),
        ]
        return "<br>".join(line for line in lines if line)

    def layout(self) -> dict[str, Any]:
        names = [f"{escape(_short(lane.label))} · {lane.gpus}" for lane in self.timeline.lanes]
        now = self.clock(self.timeline.now)
        reach = [self.clock(self.timeline.start), self.clock(self.timeline.end)]
        at_now = {"xref": "x", "yref": "paper"}
        return {
            "barmode": "overlay",
            "bargap": 0.32,
            "hovermode": "closest",
            "height": max(160, 60 + _ROW_PX * len(names)),
            "margin": {"l": 205, "r": 12, "t": 22, "b": 32},
            "showlegend": True,
            "legend": {
                "orientation": "h",
                "x": 0,
                "y": 1,
                "xanchor": "left",
                "yanchor": "bottom",
                "font": {"size": 11},
            },
            "xaxis": {"type": "date", "range": reach, "title": {"text": str(self.zone)}},
            "yaxis": {
                "tickmode": "array",
                "tickvals": list(range(len(names))),
                "ticktext": names,
                "range": [len(names) - 0.4, -0.6],
                "showgrid": False,
            },
            "shapes": [_now_line(now) | at_now],
            "annotations": [_now_word(now) | at_now],
        }


def gang_timeline(timeline: Timeline, zone: tzinfo) -> dict[str, Any]:
    """The figure, in the reader's zone."""
    drawing = _Drawing(timeline, zone)
    return {"data": drawing.traces(), "layout": drawing.layout()}


def _marker(look: Mapping[str, Any]) -> dict[str, Any]:
    marker: dict[str, Any] = {
        "color": look["color"],
        "opacity": look.get("opacity", 1),
        "line": {"width": 1 if "line" in look else 0, "color": look.get("line", look["color"])},
    }
    if "hatch" in look:
        marker["pattern"] = {
            "shape": look["hatch"],
            "size": 6,
            "solidity": 0.4,
            "fgcolor": look["color"],
            "bgcolor": "--surface",
            "fillmode": "replace",
        }
    return marker


def _now_line(now: str) -> dict[str, Any]:
    style = {"color": "--bad", "width": 1.5, "dash": "dot"}
    return {"type": "line", "x0": now, "x1": now, "y0": 0, "y1": 1, "line": style}


def _now_word(now: str) -> dict[str, Any]:
    font = {"size": 11, "color": "--bad"}
    return {
        "x": now,
        "y": 1,
        "text": "now",
        "showarrow": False,
        "yanchor": "top",
        "xanchor": "left",
        "font": font,
    }


def _short(name: str) -> str:
    return name if len(name) <= _MOST_LETTERS else f"{name[: _MOST_LETTERS - 1]}…"
