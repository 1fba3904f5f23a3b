"""What is wrong with a file, said so that the line can be mended without reading our code."""

from dataclasses import dataclass

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding. Errors stop the import; warnings are shown and do not."""

    file: str
    line: int | None
    path: str
    text: str
    allowed: str = ""
    is_warning: bool = False

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        where = f" {self.path}:" if self.path else ""
        ending = f"; allowed: {self.allowed}" if self.allowed else ""
        kind = "warning: " if self.is_warning else ""
        return f"{place}:{where} {kind}{self.text}{ending}"


class ImportRefused(ValueError):
    """The file was not imported, not even in part. `problems` holds every finding, in the file's order."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = sorted(problems, key=lambda problem: problem.line or 0)
        super().__init__("\n".join(str(problem) for problem in self.problems))


def spelled(path: Path) -> str:
    """('tenants', 2, 'entitlement', 'h100') as tenants[2].entitlement.h100."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else str(part)
    return text


def shown(value: object) -> str:
    """A value as it is quoted in a message; long ones are cut."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
