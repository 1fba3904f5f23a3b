"""Static files: Plotly's script out of its installed package (no copy, no CDN), and sending under ASGI."""

from collections.abc import AsyncIterator, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from asgiref.sync import sync_to_async
from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage
from django.core.handlers.asgi import ASGIRequest
from django.http import FileResponse, HttpRequest
from whitenoise.middleware import WhiteNoiseMiddleware

_PIECE_BYTES = 256 * 1024


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


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]
    """WhiteNoise, sending piece by piece under ASGI; its own iterators Django would first read to the end."""

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> FileResponse:
        response = WhiteNoiseMiddleware.serve(static_file, request)
        if isinstance(request, ASGIRequest) and response.file_to_stream is not None:
            response.streaming_content = _pieces(response.file_to_stream)
        return response


async def _pieces(file: IO[bytes]) -> AsyncIterator[bytes]:
    read = sync_to_async(file.read, thread_sensitive=False)
    while piece := await read(_PIECE_BYTES):
        yield piece
