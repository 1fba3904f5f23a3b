"""Description files on disk for the command tests."""

from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def example_with(tmp_path: Path, *swaps: tuple[str, str]) -> Path:
    """examples/cluster.yaml with some texts exchanged."""
    text = (EXAMPLES / "cluster.yaml").read_text()
    for old, new in swaps:
        assert old in text, old
        text = text.replace(old, new)
    path = tmp_path / "cluster.yaml"
    path.write_text(text)
    return path
