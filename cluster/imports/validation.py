"""From a document to typed entries: every fault of form at once, in our words, with its line."""

from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from cluster.imports.document import Document
from cluster.imports.fields import PATTERN_WORDS
from cluster.imports.problems import ImportRefused, Path, Problem

E = TypeVar("E", bound=BaseModel)

# What pydantic calls the fault → what we say is allowed. `{ge}` and the like come from its own details.
_ALLOWED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a number that is not infinite",
    "bool_type": "true or false",
    "string_type": "a text",
    "list_type": "a list, each item beginning with '-'",
    "dict_type": "a mapping of keys to values",
    "model_type": "a mapping of keys to values",
    "is_instance_of": "a number",  # of decimals, the only values checked so
    "decimal_type": "a number",
    "decimal_parsing": "a number",
    "datetime_type": "a time such as 2026-03-01T08:00:00Z",
    "datetime_from_date_parsing": "a time such as 2026-03-01T08:00:00Z",
    "datetime_parsing": "a time such as 2026-03-01T08:00:00Z",
    "greater_than_equal": "{ge} or more",
    "less_than_equal": "{le} or less",
    "string_too_short": "at least {min_length} character(s)",
    "string_too_long": "at most {max_length} characters",
    "too_short": "at least {min_length} item(s)",
    "decimal_max_digits": "at most {max_digits} digits",
    "decimal_max_places": "at most {decimal_places} digits after the point",
    "decimal_whole_digits": "at most {whole_digits} digits before the point",
    "literal_error": "{expected}",
}


def validated(document: Document, kind: type[E]) -> E:
    """The document as one entry of this kind. Raises ImportRefused with every fault of form."""
    if not isinstance(document.data, dict):
        raise ImportRefused([document.refusal((), document.data, f"a mapping with {_names(kind)}")])
    try:
        return kind.model_validate(document.data)
    except ValidationError as error:
        found = [_problem(document, kind, detail) for detail in error.errors(include_url=False)]
        raise ImportRefused(_without_repeats(found)) from None


def _problem(document: Document, kind: type[BaseModel], detail: ErrorDetails) -> Problem:
    path = _path_in(document.data, detail["loc"])
    if detail["type"] == "missing":
        return document.error(path, "is missing")
    if detail["type"] == "extra_forbidden":
        return document.error(path, "unknown key", _names(_kind_at(kind, path[:-1])))
    if detail["type"] == "value_error":
        return document.error(path, detail["msg"].removeprefix("Value error, "))
    return document.refusal(path, detail["input"], _allowed(detail))


def _allowed(detail: ErrorDetails) -> str:
    context = detail.get("ctx", {})
    if context.get("pattern") in PATTERN_WORDS:
        return PATTERN_WORDS[context["pattern"]]
    template = _ALLOWED.get(detail["type"])
    if template is None:
        return detail["msg"][:1].lower() + detail["msg"][1:]
    return template.format(**context).replace("'", "")


def _path_in(data: Any, location: Path) -> Path:
    """The location as it stands in the file: without the names of union branches that pydantic mixes in."""
    path: list[str | int] = []
    at = data
    for place, part in enumerate(location):
        is_last = place == len(location) - 1
        if isinstance(at, dict) and isinstance(part, str) and (part in at or is_last):
            path.append(part)
            at = at.get(part)
        elif isinstance(at, list) and isinstance(part, int) and part < len(at):
            path.append(part)
            at = at[part]
    return tuple(path)


def _kind_at(kind: type[BaseModel], path: Path) -> type[BaseModel]:
    """The entry class that stands at this path of the file."""
    for part in path:
        if isinstance(part, str) and part in kind.model_fields:
            kind = _entry_in(kind.model_fields[part].annotation) or kind
    return kind


def _entry_in(annotation: Any) -> type[BaseModel] | None:
    """The entry class inside list[...], Annotated[...] and the like."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _entry_in(part))), None)


def _names(kind: type[BaseModel]) -> str:
    return ", ".join(kind.model_fields)


def _without_repeats(problems: list[Problem]) -> list[Problem]:
    """A value that fits no branch of a union is reported once for each branch: one is enough."""
    seen: dict[tuple[int | None, str], Problem] = {}
    for problem in problems:
        seen.setdefault((problem.line, problem.path), problem)
    return list(seen.values())
