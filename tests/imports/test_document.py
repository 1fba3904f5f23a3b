"""YAML with lines: where things stand, and what is refused before anything is looked at."""

import pytest

from cluster.imports.document import MOST_LEVELS, parse_document, read_document
from cluster.imports.problems import ImportRefused


def test_every_key_and_item_knows_its_line():
    document = parse_document("a: 1\nb:\n  - c: 2\n  - d:\n      e: 3\n", "f.yaml")

    assert document.data == {"a": 1, "b": [{"c": 2}, {"d": {"e": 3}}]}
    assert document.line_of(("b", 1, "d", "e")) == 5
    assert document.line_of(("b", 0, "missing")) == 3
    assert type(document.data["a"]) is int


def test_anchors_and_merges_are_read():
    document = parse_document("base: &base {x: 1}\nuse:\n  <<: *base\n  y: 2\n", "f.yaml")

    assert document.data["use"] == {"y": 2, "x": 1}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\na: 2\n", "f.yaml:2: the key 'a' is given twice"),
        ("a: [1,\nb: 2\n", "f.yaml:3: not YAML"),
        ("a: !!python/object:os.system x\nb: [", "not YAML"),
        ("- " * (MOST_LEVELS + 5) + "1", "nested too deeply"),
    ],
)
def test_what_is_not_a_usable_document_is_refused(text, words):
    with pytest.raises(ImportRefused) as refused:
        parse_document(text, "f.yaml")

    assert words in str(refused.value)


def test_a_small_file_cannot_unfold_into_a_huge_one():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]

    with pytest.raises(ImportRefused, match="too large"):
        parse_document("\n".join(lines), "bomb.yaml")


def test_a_file_that_cannot_be_read(tmp_path):
    latin = tmp_path / "latin.yaml"
    latin.write_bytes(b"a: caf\xe9\n")

    for path, words in (
        (tmp_path / "none.yaml", "no such file"),
        (latin, "not UTF-8"),
        (tmp_path, "cannot be read"),
    ):
        with pytest.raises(ImportRefused, match=words):
            read_document(path)
