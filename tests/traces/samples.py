"""Where the public traces lie: beside the checkout, never inside it."""

from pathlib import Path

import pytest

SAMPLES = Path(__file__).resolve().parents[2].parent / "shared" / "data"


def sample(name: str) -> Path:
    """The path of one public trace. Skips the test, saying which file it wanted, when it is not there."""
    path = SAMPLES / name
    if not path.exists():
        pytest.skip(f"needs the public trace {name} at {SAMPLES}; it is not carried in this repository")
    return path
