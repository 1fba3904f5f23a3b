"""Plotly's script, served out of the installed plotly package: no copy in the repository, no CDN."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage


class PlotlyFinder(BaseFinder):
    """Finds `plotly/plotly.min.js` and nothing else of the package's data."""

    path = "plotly/plotly.min.js"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        spec = find_spec("plotly")  # the spec only: importing plotly takes a second
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError("the plotly package is missing: `make up` installs what is locked")
        self.storage = FileSystemStorage(Path(spec.origin).parent / "package_data")
        self.storage.prefix = "plotly"  # type: ignore[attr-defined]  # read by collectstatic and WhiteNoise

    def check(self, **kwargs: Any) -> list[Any]:
        return []

    def find(self, path: str, find_all: bool = False, **kwargs: Any) -> str | list[str]:
        found = [self.storage.path("plotly.min.js")] if path == self.path else []
        if find_all:
            return found
        return found[0] if found else []

    def list(self, ignore_patterns: Any) -> Iterator[tuple[str, FileSystemStorage]]:
        yield "plotly.min.js", self.storage
