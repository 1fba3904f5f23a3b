"""Files have one subject and functions fit on a screen."""

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST_LINES_OF_A_FILE = 500
MOST_LINES_OF_A_FUNCTION = 70
WRITTEN = {".py", ".html", ".css", ".js"}
VAGUE = {"utils", "helpers", "manager", "common", "misc"}


def own_files() -> list[Path]:
    """What is written by hand: tracked or new files, without what is generated."""
    listed = subprocess.check_output(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, text=True
    )
    files = [ROOT / line for line in listed.splitlines() if "/migrations/" not in line]
    return [file for file in files if file.suffix in WRITTEN and file.is_file()]


def functions(file: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


def test_no_file_is_longer_than_500_lines():
    lengths = {str(file.relative_to(ROOT)): len(file.read_text().splitlines()) for file in own_files()}
    assert {name: n for name, n in lengths.items() if n > MOST_LINES_OF_A_FILE} == {}


def test_no_function_is_longer_than_70_lines():
    long = {
        f"{file.relative_to(ROOT)}:{name}": lines
        for file in own_files()
        if file.suffix == ".py"
        for name, lines in functions(file)
        if lines > MOST_LINES_OF_A_FUNCTION
    }
    assert long == {}


def test_no_module_has_a_name_that_says_nothing():
    assert [str(file) for file in own_files() if file.stem in VAGUE] == []
