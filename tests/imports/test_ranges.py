import pytest

from cluster.imports.ranges import expand


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("gpu1", ["gpu1"]),
        ("gpu[1-3]", ["gpu1", "gpu2", "gpu3"]),
        ("gpu[098-101]", ["gpu098", "gpu099", "gpu100", "gpu101"]),
        ("gpu[1,4,7-8]x", ["gpu1x", "gpu4x", "gpu7x", "gpu8x"]),
        ("r[1-2]n[01-02]", ["r1n01", "r1n02", "r2n01", "r2n02"]),
        ("[9-10]", ["9", "10"]),
    ],
)
def test_a_range_is_written_out_in_order(text, names):
    assert expand(text) == names


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gpu[3-1]", "goes backwards"),
        ("gpu[1-", "closed brackets"),
        ("gpu]1[", "closed brackets"),
        ("gpu[[1]]", "closed brackets"),
        ("gpu[a-b]", "not a range"),
        ("gpu[]", "not a range"),
        ("", "not a name"),
        ("gpu[0-99999999999]", "longer than"),
        ("a[1-1000]b[1-1000]", "1,000,000 names"),
    ],
)
def test_what_is_wrong_with_a_range_is_said(text, words):
    with pytest.raises(ValueError, match=words):
        expand(text)
