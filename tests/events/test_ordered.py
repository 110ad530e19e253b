"""The set of fingerprints behind the compact checker."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracediff.events.event import Event
from tracediff.events.ordered import FingerprintSet, NotOrdered, OrderedChecker, _holds


@given(st.lists(st.text(max_size=3)))
def test_it_is_a_set(texts: list[str]) -> None:
    """It answers as a set of the strings themselves does."""
    compact, exact = FingerprintSet(), set[str]()
    for text in texts:
        assert (text in compact) == (text in exact)
        assert compact.add(text) == (text not in exact)
        exact.add(text)
    assert len(compact) == len(exact)


def test_a_full_bucket_tells_its_members_apart() -> None:
    """With many strings a bucket, neither order nor alignment of the bytes confuses it."""
    compact = FingerprintSet()
    assert all(compact.add(f"e{number}") for number in range(200_000))
    assert all(f"e{number}" in compact for number in range(0, 200_000, 97))
    assert not any(f"f{number}" in compact for number in range(0, 200_000, 97))


def test_it_keeps_few_bytes_a_string() -> None:
    """200,000 strings take at most 16 bytes each, beyond what an empty bucket takes."""
    compact = FingerprintSet()
    for number in range(200_000):
        compact.add(f"e{number}")
    buckets = compact._buckets
    empty = sys.getsizeof(bytearray())
    held = sum(sys.getsizeof(bucket) - empty for bucket in buckets.values())
    assert held <= 16 * len(compact)


@pytest.mark.parametrize(
    ("second", "third"),
    [
        pytest.param(("b", "c"), ("c", "r"), id="a parent that comes later"),
        pytest.param(("b", "x"), ("c", "r"), id="a parent that never comes"),
        pytest.param(("b", "r"), ("b", "r"), id="an id twice"),
        pytest.param(("b", "b"), ("c", "r"), id="its own parent"),
    ],
)
def test_what_is_not_ordered_is_not_decided(
    second: tuple[str, str], third: tuple[str, str]
) -> None:
    """Where fingerprints do not suffice, the question goes back."""
    header = {"trace": {"format": "tracediff-trace/1", "kind": "loop"}}
    events = [
        Event("t", "r", None, "loop", "step", 0, header),
        *(Event("t", name, parent, "loop", "step", 0, {}) for name, parent in (second, third)),
    ]
    checker = OrderedChecker()
    with pytest.raises(NotOrdered):
        [checker.add(event, b"") for event in events]


@pytest.mark.parametrize(
    ("bucket", "found"),
    [
        pytest.param(b"", False, id="empty"),
        pytest.param(b"abcdefgh", True, id="alone"),
        pytest.param(b"--------abcdefgh", True, id="second"),
        pytest.param(b"----abcdefgh----", False, id="across two others"),
        pytest.param(b"----abcdefgh----abcdefgh", True, id="across two others, then itself"),
    ],
)
def test_only_whole_fingerprints_are_found(bucket: bytes, found: bool) -> None:
    """Bytes that run over the border of two fingerprints are neither."""
    assert _holds(bytearray(bucket), b"abcdefgh") == found
