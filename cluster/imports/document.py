"""A YAML file as plain Python values, with the line of every key and item."""

from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from cluster.imports.problems import ImportRefused, Path, Problem, shown, spelled

MOST_VALUES = 500_000
MOST_LEVELS = 40


@dataclass(slots=True)
class Document:
    """`data` is the file's content; findings about it are made with `error` and `warning`."""

    file: str
    data: Any
    lines: dict[Path, int] = field(default_factory=dict)

    def line_of(self, path: Path) -> int | None:
        """The line of this path, or of the nearest thing around it (for what is missing)."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return None

    def error(self, path: Path, text: str, allowed: str = "") -> Problem:
        return Problem(self.file, self.line_of(path), spelled(path), text, allowed)

    def refusal(self, path: Path, value: object, allowed: str) -> Problem:
        return self.error(path, f"{shown(value)} is not allowed", allowed)

    def warning(self, path: Path, text: str) -> Problem:
        return Problem(self.file, self.line_of(path), spelled(path), text, is_warning=True)


def read_document(path: FilePath | str) -> Document:
    """The one document of a YAML file. Raises ImportRefused when it cannot be read or is not YAML."""
    path = FilePath(path)
    name = str(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise _refused(name, None, "there is no such file") from None
    except UnicodeDecodeError as error:
        raise _refused(name, None, f"not UTF-8 text ({error.reason} at byte {error.start})") from None
    except OSError as error:
        raise _refused(name, None, f"cannot be read ({error.strerror})") from None
    return parse_document(text, name)


def parse_document(text: str, name: str) -> Document:
    """The same for text that is already at hand."""
    try:
        loaded = YAML(typ="rt", pure=True).load(text)
    except DuplicateKeyError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        key = str(error.problem).split('"')[1] if '"' in str(error.problem) else ""
        raise _refused(name, line, f"the key '{key}' is given twice in one mapping") from None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _refused(name, mark.line + 1 if mark else None, f"not YAML: {error.problem}") from None
    except (YAMLError, ValueError) as error:
        raise _refused(name, None, f"not YAML: {error}") from None
    return _plain(loaded, name)


def document_of(data: Any, name: str) -> Document:
    """A document of values made by a program (the demo, a trace's default cluster): it has no lines."""
    return Document(name, data)


def _refused(file: str, line: int | None, text: str) -> ImportRefused:
    return ImportRefused([Problem(file, line, "", text)])


def _plain(loaded: Any, name: str) -> Document:
    document = Document(name, None)
    document.data = _Plainer(document).value(loaded, ())
    return document


class _Plainer:
    """Turns the round-trip containers into dict and list and notes where each entry stood."""

    def __init__(self, document: Document) -> None:
        self.document, self.count = document, 0

    def value(self, loaded: Any, path: Path) -> Any:
        self.count += 1
        # An alias stands for all it names: a small file of them could fill the memory.
        if self.count > MOST_VALUES or len(path) > MOST_LEVELS:
            raise _refused(self.document.file, self.document.line_of(path), "too large or nested too deeply")
        if isinstance(loaded, CommentedMap):
            return {str(key): self._entry(loaded, key, (*path, str(key))) for key in loaded}
        if isinstance(loaded, CommentedSeq):
            return [self._entry(loaded, index, (*path, index)) for index in range(len(loaded))]
        if isinstance(loaded, bool) or not isinstance(loaded, int | float | str):
            return loaded
        return next(kind(loaded) for kind in (int, float, str) if isinstance(loaded, kind))

    def _entry(self, parent: CommentedMap | CommentedSeq, key: Any, path: Path) -> Any:
        # Keys that come through a merge (<<) have no place of their own.
        place = (parent.lc.data or {}).get(key)
        if place is not None:
            self.document.lines[path] = place[0] + 1
        return self.value(parent[key], path)


def unknown(document: Document, path: Path, kind: str, name: str, known: list[str]) -> Problem:
    """A name that stands for nothing, with the names that would."""
    allowed = ", ".join(known[:20]) + (f" and {len(known) - 20} more" if len(known) > 20 else "")
    return document.error(path, f"there is no {kind} '{name}'", allowed or f"no {kind} is described")
