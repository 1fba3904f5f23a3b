"""What the templates say numbers, money, durations and times with: one wording on every page."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django import template
from django.forms import Form
from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from cluster.models import CapacityState
from cluster.pages import words

register = template.Library()

for _name in ("count", "share", "usd", "duration", "hours", "decimals"):
    register.filter(_name, getattr(words, _name))


SHEETS = ("tokens", "base", "layout", "controls", "tables", "capacity", "explain", "print")


@register.simple_tag
def stylesheets() -> SafeString:
    rows = ((static(f"lockstep/css/{name}.css"),) for name in SHEETS)
    return format_html_join("\n  ", '<link rel="stylesheet" href="{}">', rows)


@register.simple_tag(takes_context=True)
def theme(context: template.Context) -> SafeString:
    """The attribute that pins the theme; nothing where it follows the system."""
    request = context.get("request")
    chosen = request.COOKIES.get("lockstep_theme") if request else None
    return format_html(' data-theme="{}"', chosen) if chosen in ("light", "dark") else SafeString("")


@register.filter
def iso(moment: datetime | None) -> str:
    return "" if moment is None else moment.isoformat()


@register.simple_tag
def icon(name: str, label: str = "") -> SafeString:
    """An icon of the sprite; with a label it speaks, else it is decoration."""
    said = format_html('role="img" aria-label="{}"', label) if label else SafeString('aria-hidden="true"')
    return format_html(
        '<svg class="icon" {}><use href="{}#{}"></use></svg>', said, static("lockstep/icons.svg"), name
    )


@register.simple_tag(takes_context=True)
def when(context: template.Context, moment: datetime | None, unknown: str = "–") -> SafeString:
    """A moment in the reader's zone: the time, with the day if it is another one; in full on hover."""
    return _stamp(moment, unknown, "" if moment is None else words.short_time(moment, _now(context)))


@register.simple_tag
def full(moment: datetime | None, unknown: str = "–") -> SafeString:
    """A moment with day and zone."""
    return _stamp(moment, unknown, "" if moment is None else words.full_time(moment))


@register.simple_tag(takes_context=True)
def since(context: template.Context, moment: datetime | None, unknown: str = "–") -> SafeString:
    """How long ago, as a duration that goes on counting; the moment itself on hover."""
    return _relative(context, moment, unknown, "for")


@register.simple_tag(takes_context=True)
def ago(context: template.Context, moment: datetime | None, unknown: str = "–") -> SafeString:
    """The same as `5 min ago`."""
    return _relative(context, moment, unknown, "ago")


@register.simple_tag(takes_context=True)
def until(context: template.Context, moment: datetime | None, unknown: str = "–") -> SafeString:
    """How long from now, on the engine's clock; `now` when it has passed."""
    if moment is None:
        return format_html('<span class="muted">{}</span>', unknown)
    left = (moment - _now(context)).total_seconds()
    said = "now" if left <= 0 else f"in {words.duration(left)}"
    return format_html('<time datetime="{}" title="{}">{}</time>', iso(moment), words.full_time(moment), said)


def _stamp(moment: datetime | None, unknown: str, said: str) -> SafeString:
    if moment is None:
        return format_html('<span class="muted">{}</span>', unknown)
    return format_html('<time datetime="{}" title="{}">{}</time>', iso(moment), words.full_time(moment), said)


def _relative(context: template.Context, moment: datetime | None, unknown: str, kind: str) -> SafeString:
    if moment is None:
        return format_html('<span class="muted">{}</span>', unknown)
    said = words.duration((_now(context) - moment).total_seconds())
    return format_html(
        '<time datetime="{}" title="{}" data-since="{}">{}</time>',
        iso(moment),
        words.full_time(moment),
        kind,
        f"{said} ago" if kind == "ago" else said,
    )


def _now(context: template.Context) -> datetime:
    """The engine's now, as the page was made with; the wall's where a page has none."""
    return getattr(context.get("fresh"), "now", None) or timezone.now()


@register.filter
def lookup(mapping: Mapping[Any, Any], key: Any) -> Any:
    return mapping.get(key, "")


@register.simple_tag
def percent(part: float, whole: float) -> str:
    """For the width of an SVG bar."""
    return f"{100 * part / whole:.2f}" if whole else "0"


@register.filter
def state_label(state: str) -> str:
    return str(CapacityState(state).label)


@register.filter
def field_label(form: Form, name: str) -> str:
    return str(form[name].label)
