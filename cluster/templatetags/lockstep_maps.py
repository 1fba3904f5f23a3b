"""Small drawings: nodes on the rack map, the seats of a gang, a tenant's bar, and their states in words."""

from collections.abc import Container

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from cluster.charts.bar import meter
from cluster.selectors.job_story import Seat
from cluster.selectors.rack_map import Cell
from cluster.selectors.standing import Line
from fleet.models import Node

register = template.Library()


@register.simple_tag
def node_cell(cell: Cell, dimmed: Container[str] = ()) -> SafeString:
    """A node on the rack map: a link that is filled by the states of its GPUs and says them in words."""
    said = cell.words
    classes = f"node s-{cell.main_state}{' is-dim' if cell.name in dimmed else ''}"
    rows = () if cell.is_uniform else cell.segments
    inner = format_html_join("", '<i class="s-{} n{}"></i>', rows)
    glyph = format_html("<b><span>{}</span></b>", cell.glyph) if cell.glyph else ""
    return format_html(
        '<a class="{}" href="/nodes/{}/" aria-label="{}">{}{}</a>', classes, cell.name, said, inner, glyph
    )


@register.simple_tag
def cell_state(cell: Cell) -> SafeString:
    if cell.drain_asked:
        return format_html('<span class="chip warn">{}</span>', "drained" if not cell.jobs else "drain asked")
    tone = {"eligible": "good", "suspect": "warn", "validation": "warn"}.get(cell.node_state, "bad")
    return format_html('<span class="chip {}">{}</span>', tone, cell.node_state.replace("_", " "))


@register.simple_tag
def node_state(node: Node) -> SafeString:
    """Eligible, drained or out of work, in words and tone. A drain that was asked for counts first."""
    if node.drain_asked_at is not None:
        return format_html(
            '<span class="chip warn">{}</span>', "drained" if node.state == "drained" else "drain asked"
        )
    tone = {"eligible": "good", "suspect": "warn", "validation": "warn"}.get(node.state, "bad")
    return format_html('<span class="chip {}">{}</span>', tone, node.get_state_display())


@register.simple_tag
def seat_bar(seat: Seat) -> SafeString:
    """The GPU slots of one node; those that the gang holds are filled."""
    rows = ((i, "s-busy" if i in seat.slots else "s-none") for i in range(seat.installed))
    parts = format_html_join("", '<rect x="{}" width="0.86" height="1" class="{}"></rect>', rows)
    return format_html(
        '<svg class="seat" viewBox="0 0 {} 1" preserveAspectRatio="none" aria-hidden="true">{}</svg>',
        seat.installed,
        parts,
    )


@register.simple_tag
def use_bar(line: Line) -> SafeString:
    """Own use, loans taken and loans given against the guarantee, which is the mark."""
    drawn = meter({"own": line.own_use, "lent": line.lent, "loan": line.borrowed}, line.scale, line.entitled)
    rows = ((p.state, p.x, p.width) for p in drawn.parts if p.count)
    parts = format_html_join("", '<rect class="{}" x="{}%" width="{}%" y="0" height="100%"></rect>', rows)
    mark = (
        ""
        if drawn.mark is None
        else format_html('<line class="mark" x1="{0}%" x2="{0}%" y1="0" y2="100%"></line>', drawn.mark)
    )
    said = f"{line.own_use} of its own guarantee in use, {line.borrowed} borrowed, {line.lent} lent"
    return format_html('<svg class="meter" role="img" aria-label="{}">{}{}</svg>', said, parts, mark)
