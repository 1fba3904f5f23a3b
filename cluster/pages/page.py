"""What every page has: navigation, the cluster's clock, live topics, and pieces that can be fetched alone.

A page is a template and a few named parts, each a template of its own whose outer element carries
`data-partial="name"` and `data-live="topic"`. The live script asks for `?partial=a,b` and gets these parts
only; what a part does not touch is not computed, because the contexts compute lazily.
"""

import zoneinfo
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from cluster.selectors.freshness import freshness
from tenancy.permissions import Action, Grants, NotAllowed

View = Callable[..., HttpResponse]
THEMES = (("system", "screen", "As the system"), ("light", "sun", "Light"), ("dark", "moon", "Dark"))
NAVIGATION = (
    ("today", "Today", "today", False),
    ("queue", "Queue", "queue", False),
    ("nodes", "Nodes", "nodes", False),
    ("tenants", "Tenants", "tenants", False),
    ("job-new", "New job", "plus", False),
    ("status", "Status", "status", True),
)


@dataclass(frozen=True)
class NavItem:
    name: str
    label: str
    icon: str
    secondary: bool
    href: str
    current: bool


@dataclass(frozen=True)
class Shell:
    """The frame around a page."""

    theme_name: str
    zone: str
    nav: Sequence[NavItem] = ()
    topics: Sequence[str] = ()
    themes: Sequence[tuple[str, str, str]] = THEMES

    @property
    def theme(self) -> str:
        return "" if self.theme_name == "system" else self.theme_name


def page(view: View) -> View:
    """A view for people with a role: times in their zone; a missing right is told on the 403 page."""

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        request.grants = Grants(request.user)  # type: ignore[attr-defined,arg-type]
        with timezone.override(zone_of(request)):
            try:
                if not request.grants.may(Action.SEE_CLUSTER):  # type: ignore[attr-defined]
                    raise PermissionDenied("you have no role in this cluster yet; ask its owner for one")
                return view(request, *args, **kwargs)
            except NotAllowed as refusal:
                raise PermissionDenied(str(refusal)) from refusal

    return wrapped


def zone_of(request: HttpRequest) -> zoneinfo.ZoneInfo:
    """The user's time zone; UTC if they have none or it is not known here."""
    name = getattr(request.user, "time_zone", "") or "UTC"
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        return zoneinfo.ZoneInfo("UTC")


def shell_of(request: HttpRequest, *, here: str = "", topics: Sequence[str] = ()) -> Shell:
    theme = request.COOKIES.get("lockstep_theme", "system")
    return Shell(
        theme_name=theme if theme in ("light", "dark") else "system",
        zone=timezone.get_current_timezone_name(),
        nav=[NavItem(*item, reverse(item[0]), item[0] == here) for item in NAVIGATION],
        topics=topics,
    )


def render_page(
    request: HttpRequest,
    template: str,
    context: Mapping[str, Any],
    *,
    here: str = "",
    topics: Sequence[str] = (),
    parts: Mapping[str, str] | None = None,
    status: int = 200,
) -> HttpResponse:
    """The page, or the parts of it that `?partial=` names. Raises Http404 for a part it does not have."""
    shell = shell_of(request, here=here, topics=topics)
    whole = {**context, "shell": shell, "fresh": freshness(), "grants": getattr(request, "grants", None)}
    asked = request.GET.get("partial")
    if asked is None:
        return render(request, template, whole, status=status)
    wanted = asked.split(",")
    if unknown := [name for name in wanted if name not in (parts or {})]:
        raise Http404(f"this page has no part {unknown[0]!r}; it has: {', '.join(parts or {}) or 'none'}")
    answer = render(request, "partials.html", {**whole, "parts": [(parts or {})[name] for name in wanted]})
    answer["Cache-Control"] = "no-store"
    return answer
