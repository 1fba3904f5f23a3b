"""Every refusal in one shape: status, code, a sentence, and for each problem its field, value and mend."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from django.core.exceptions import PermissionDenied
from django.core.exceptions import ValidationError as Refusal
from django.db import IntegrityError
from django.http import Http404
from rest_framework import exceptions, status
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import exception_handler

from cluster.api.allowed import mend
from cluster.engines.contract import EngineUnreachable
from tenancy.permissions import NotAllowed

LONGEST_VALUE = 200
WHOLE = "non_field_errors"


class Conflict(exceptions.APIException):
    """The thing is not, or no longer, in the state that the request is about."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "conflict"


class Unreachable(exceptions.APIException):
    status_code = status.HTTP_503_SERVICE_UNAVAILABLE
    default_code = "engine_unreachable"


def as_json(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's exception handler. None lets an unforeseen error be one."""
    by_service = isinstance(error, Refusal)
    translated = _translate(error)
    answer = exception_handler(translated, context)
    if answer is None:
        return None
    problems = list(_problems(translated, context, by_service))
    answer.data = {
        "status": answer.status_code,
        "code": _code(translated),
        "detail": _sentence(translated, problems),
        "errors": problems,
    }
    request = context["request"]
    request.accepted_renderer, request.accepted_media_type = JSONRenderer(), JSONRenderer.media_type
    return answer


def _translate(error: Exception) -> Exception:
    """Errors of the layers below, as errors of HTTP."""
    match error:
        case NotAllowed():
            return exceptions.PermissionDenied(str(error))
        case Refusal() if hasattr(error, "error_dict"):
            return exceptions.ValidationError(error.message_dict)
        case Refusal():  # not about a field: about the state that the thing is in
            return Conflict(" ".join(error.messages))
        case IntegrityError():
            return Conflict("it was changed at the same moment by somebody else: read it again")
        case EngineUnreachable():
            return Unreachable(f"the engine does not answer, try again in a moment: {error}")
    return error


def _code(error: Exception) -> str:
    match error:
        case Http404():
            return "not_found"
        case PermissionDenied():
            return "permission_denied"
        case exceptions.ValidationError():
            return "invalid"
    return str(getattr(error, "default_code", "error"))


def _sentence(error: Exception, problems: list[dict[str, Any]]) -> str:
    if isinstance(error, exceptions.ValidationError):
        return "; ".join(f"{p['field']}: {p['message']}" if p["field"] else p["message"] for p in problems)
    if isinstance(error, exceptions.APIException):
        return str(error.detail)
    return str(error) or "not found"


def _problems(error: Exception, context: Mapping[str, Any], by_service: bool) -> Iterator[dict[str, Any]]:
    if not isinstance(error, exceptions.ValidationError):
        return
    given = _given(context)
    fields = _fields(context)
    for path, message in _flat(error.detail, ()):
        name = ".".join(path)
        root = path[0] if path else ""
        yield {
            "field": name or None,
            "value": _short(given.get(root)) if root else None,
            "message": message,
            "mend": mend(root, fields.get(root), by_service=by_service) if root else None,
        }


def _flat(detail: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(detail, Mapping):
        for key, inner in detail.items():
            name = str(key)
            yield from _flat(inner, path if name in (WHOLE, "__all__") else (*path, name))
    elif isinstance(detail, list):
        for position, inner in enumerate(detail):
            nested = isinstance(inner, Mapping | list)
            yield from _flat(inner, (*path, str(position)) if nested else path)
    else:
        yield path, str(detail)


def _given(context: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the client sent: the body of a write, else the query."""
    request = context["request"]
    if request.method in ("GET", "HEAD", "OPTIONS"):
        given = {key: ",".join(request.query_params.getlist(key)) for key in request.query_params}
        suffix = getattr(context.get("view"), "format_kwarg", None)
        return {"format": suffix, **given} if suffix else given
    try:
        return request.data if isinstance(request.data, Mapping) else {}
    except exceptions.APIException:
        return {}


def _fields(context: Mapping[str, Any]) -> Mapping[str, Any]:
    """The declared fields that the request was checked against, by name."""
    view, request = context.get("view"), context["request"]
    if request.method in ("GET", "HEAD", "OPTIONS"):
        filters = getattr(view, "filterset_class", None)
        return {name: each.field for name, each in filters.base_filters.items()} if filters else {}
    form = getattr(view, "form", None)
    return form.fields if isinstance(form, Serializer) else {}


def _short(value: Any) -> Any:
    """The value, or the beginning of it as text where it is long or cannot be written in JSON."""
    try:
        text = value if isinstance(value, str) else json.dumps(value, default=str, allow_nan=False)
    except ValueError:
        return str(value)[:LONGEST_VALUE]
    return value if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + "…"
