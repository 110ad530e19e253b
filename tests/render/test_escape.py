"""Values that are cut for a report still show the place where they differ."""

import pytest

from tracediff.render.escape import visible_pair

LONG = "a" * 500

PAIRS = {
    "short": ("abc", "abd", 200, ('"abc"', '"abd"')),
    "numbers": (1, 2, 200, ("1", "2")),
    "one-is-no-string": (LONG, 7, 20, (f'"{"a" * 20}… (500 characters)"', "7")),
    "differ-at-the-start": (
        "x" + LONG,
        "y" + LONG,
        8,
        ('"xaaaaaaa… (501 characters)"', '"yaaaaaaa… (501 characters)"'),
    ),
    "differ-late": (
        LONG + "left",
        LONG + "right",
        20,
        ('…"aaaaaleft" (from character 495)', '…"aaaaaright" (from character 495)'),
    ),
    "one-goes-on": (
        LONG,
        LONG + "more",
        20,
        ('…"aaaaa" (from character 495)', '…"aaaaamore" (from character 495)'),
    ),
    "escapes": (
        LONG + "\x1b[31m",
        LONG + "\x1b[32m",
        20,
        (r'…"aa\x1b[31m" (from character 498)', r'…"aa\x1b[32m" (from character 498)'),
    ),
}


@pytest.mark.parametrize(("left", "right", "limit", "expected"), PAIRS.values(), ids=PAIRS.keys())
def test_pair_shows_where_it_parts(
    left: object, right: object, limit: int, expected: tuple[str, ...]
) -> None:
    """Long strings that begin alike are cut at the front, all others at the end."""
    assert visible_pair(left, right, limit) == expected
