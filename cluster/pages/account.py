"""Signing in and out, the user's time zone and API tokens."""

import zoneinfo
from datetime import timedelta

from django import forms
from django.contrib import messages
from django.contrib.auth.views import LoginView
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_POST
from knox.settings import knox_settings

from cluster.pages.page import page, render_page
from tenancy.models import ApiToken, User
from tenancy.services.issue_token import issue_token


class SignIn(LoginView):
    template_name = "cluster/login.html"
    redirect_authenticated_user = True


class ZoneForm(forms.Form):
    time_zone = forms.CharField(max_length=64)

    def clean_time_zone(self) -> str:
        name: str = self.cleaned_data["time_zone"].strip()
        if name not in zoneinfo.available_timezones():
            raise forms.ValidationError(
                f"{name!r} is not a known time zone: give a name like UTC, Europe/Paris or America/New_York"
            )
        return name


def _account(
    request: HttpRequest,
    *,
    token: str = "",
    problem: str = "",
    zone_form: ZoneForm | None = None,
    status: int = 200,
) -> HttpResponse:
    user: User = request.user  # type: ignore[assignment]
    context = {
        "tokens": ApiToken.objects.filter(user=user),
        "token": token,
        "problem": problem,
        "label": request.POST.get("label", ""),
        "zone_form": zone_form or ZoneForm(initial={"time_zone": user.time_zone or "UTC"}),
        "zones": sorted(zoneinfo.available_timezones()),
        "token_days": (knox_settings.TOKEN_TTL or timedelta(0)).days,
    }
    return render_page(request, "cluster/account.html", context, here="tokens", status=status)


@page
def account(request: HttpRequest) -> HttpResponse:
    return _account(request)


@require_POST
@page
@sensitive_variables("key")
def new_token(request: HttpRequest) -> HttpResponse:
    """Makes a token and shows it in this answer, the only time it can be read."""
    try:
        _, key = issue_token(user=request.user, label=request.POST.get("label", ""))  # type: ignore[arg-type]
    except ValidationError as error:
        return _account(request, problem=" ".join(error.messages), status=400)
    answer = _account(request, token=key)
    answer["Cache-Control"] = "no-store"
    return answer


@require_POST
@page
def revoke_token(request: HttpRequest, token_key: str) -> HttpResponse:
    get_object_or_404(ApiToken, user=request.user, token_key=token_key).delete()
    messages.success(request, "The token is revoked: it opens nothing any more.")
    return redirect("tokens")


@require_POST
@page
def set_zone(request: HttpRequest) -> HttpResponse:
    form = ZoneForm(request.POST)
    if not form.is_valid():
        return _account(request, zone_form=form, status=400)
    request.user.time_zone = form.cleaned_data["time_zone"]  # type: ignore[union-attr]
    request.user.save(update_fields=["time_zone"])
    messages.success(request, f"Times are shown in {form.cleaned_data['time_zone']} from now on.")
    return redirect("tokens")
