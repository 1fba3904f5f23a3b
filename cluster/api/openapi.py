"""The schema: what every operation may refuse with, and CSV as what it is."""

import re
from typing import Any

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import force_instance

from cluster.api.about import ABOUT, TAGS
from cluster.api.fields import Closed

PROBLEM = {
    "type": "object",
    "description": "A refusal, with what to mend.",
    "required": ["status", "code", "detail", "errors"],
    "properties": {
        "status": {"type": "integer"},
        "code": {"type": "string", "description": "A word for programs, such as `invalid` or `conflict`."},
        "detail": {"type": "string", "description": "The same for people."},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["field", "value", "message", "mend"],
                "properties": {
                    "field": {"type": "string", "nullable": True},
                    "value": {"nullable": True, "description": "What was given."},
                    "message": {"type": "string"},
                    "mend": {"type": "string", "nullable": True, "description": "What to give instead."},
                },
            },
        },
    },
}
REFUSALS = {
    "400": "Something in the request is not understood; `errors` names it.",
    "401": "Not signed in, or the token is not valid.",
    "403": "Signed in, but without the right to do this here.",
    "404": "There is no such thing.",
    "406": "Not available in the wanted format.",
    "429": "Too many requests; `Retry-After` says how many seconds to wait.",
}
REFUSALS_OF_WRITES = {
    "409": "It is not, or no longer, in the state that the request is about.",
    "415": "The body is not `application/json`.",
    "503": "The engine that runs the jobs does not answer.",
}


class Schema(AutoSchema):
    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        operation: dict[str, Any] | None = super().get_operation(*args, **kwargs)
        if operation is None:
            return None
        refusals = REFUSALS | (REFUSALS_OF_WRITES if self.method not in ("GET", "HEAD") else {})
        content = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
        for status, about in refusals.items():
            operation["responses"].setdefault(status, {"description": about, "content": content})
        return operation

    def get_operation_id(self) -> str:
        name: str = super().get_operation_id()
        if getattr(self.view, "action", None) in ("list", "retrieve", "create", "destroy"):
            return name
        return name.removesuffix("_create").removesuffix("_retrieve").removesuffix("_list")

    def get_summary(self) -> str | None:
        """What stands beside the address while an operation is folded up."""
        noun, action = getattr(self.view, "noun", ""), getattr(self.view, "action", "")
        known = {"list": f"List {self.get_tags()[0]}", "retrieve": f"One {noun}"}
        own = getattr(getattr(self.view, action, None), "__doc__", None)
        first = re.split(r"[.;:] ", " ".join(own.split()))[0].rstrip(".") if own else None
        return known.get(action, first)

    def _get_serializer_name(self, *args: Any, **kwargs: Any) -> str:
        """Clients generate classes out of these names: a job is `Job` there, not `JobRow`."""
        name: str = super()._get_serializer_name(*args, **kwargs)
        return name.removesuffix("Row")

    def _map_basic_serializer(self, serializer: Any, direction: Any) -> dict[str, Any]:
        schema: dict[str, Any] = super()._map_basic_serializer(serializer, direction)
        is_closed = isinstance(force_instance(serializer), Closed)
        return {**schema, "additionalProperties": False} if is_closed else schema

    def _get_response_for_code(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        response: dict[str, Any] = super()._get_response_for_code(*args, **kwargs)
        if "text/csv" in response.get("content", {}):
            text = {"type": "string", "description": "All rows, not only a page of them."}
            response["content"]["text/csv"] = {"schema": text}
        return response


def complete(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A hook of drf-spectacular: the introduction, the parts in their order, and what refusals refer to."""
    result["info"]["description"] = ABOUT
    result["tags"] = [{"name": name, "description": about} for name, about in TAGS.items()]
    result["components"]["schemas"]["Problem"] = PROBLEM
    return result
