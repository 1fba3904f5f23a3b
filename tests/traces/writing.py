"""Small trace files for tests, in the columns of the originals."""

import gzip
from pathlib import Path


def write(path: Path, *lines: str) -> Path:
    """The lines as a file, packed when the name ends in .gz."""
    text = "\n".join(lines) + "\n"
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


def says(notes: tuple[str, ...], *words: str) -> bool:
    """One of the notes holds all these words."""
    return any(all(word in note for word in words) for note in notes)
