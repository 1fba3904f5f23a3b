"""The eight states over the last hours as a stacked area for Plotly. Colours are tokens of the theme."""

from collections.abc import Mapping
from datetime import tzinfo
from typing import Any

from cluster.selectors.history import History

ORDER = (
    "busy",
    "starting",
    "idle_allocated",
    "unknown_allocated",
    "reserved",
    "placeable",
    "stranded",
    "unavailable",
)
_HATCHED: Mapping[str, Mapping[str, Any]] = {
    "unknown_allocated": {"shape": "/", "size": 5, "solidity": 0.35, "fgcolor": "--surface"},
    "unavailable": {"shape": "\\", "size": 6, "solidity": 0.2, "fgcolor": "--surface"},
}


def capacity_area(history: History, labels: Mapping[str, str], zone: tzinfo) -> dict[str, Any]:
    """`labels` names the states. The areas sum to the installed GPUs at every step."""
    # Plotly knows no time zones: it gets the reader's clock and the axis names the zone.
    times = [
        (start + history.step / 2).astimezone(zone).strftime("%Y-%m-%dT%H:%M:%S") for start in history.starts
    ]
    data = [
        {
            "type": "scatter",
            "mode": "lines",
            "stackgroup": "gpus",
            "name": labels[state],
            "x": times,
            "y": [round(value, 1) for value in history.gpus[state]],
            "line": {"width": 0, "color": f"--{state}", "shape": "hv"},
            "fillcolor": f"--{state}",
            "hovertemplate": "%{y:,.0f}",
            **(
                {"fillpattern": {**_HATCHED[state], "bgcolor": f"--{state}", "fillmode": "overlay"}}
                if state in _HATCHED
                else {}
            ),
        }
        for state in ORDER
        if history.gpus and any(history.gpus[state])
    ]
    layout = {
        "xaxis": {"type": "date", "title": {"text": str(zone), "standoff": 22}, "showgrid": False},
        "yaxis": {"title": {"text": "GPUs"}, "rangemode": "tozero", "tickformat": ",d"},
        "hoverlabel": {"namelength": -1},
        "height": 260,
        "margin": {"l": 44, "r": 12, "t": 8, "b": 52},
    }
    return {"data": data, "layout": layout}
