"""Where lines start and end, however the file is cut into chunks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracediff.errors import InvalidTrace
from tracediff.storage.lines import Line, split_lines


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(b"", [], id="nothing"),
        pytest.param(b"a\nbc\n", [(1, 0, b"a", True), (2, 2, b"bc", True)], id="two lines"),
        pytest.param(b"a\nbc", [(1, 0, b"a", True), (2, 2, b"bc", False)], id="no last line feed"),
        pytest.param(
            b"\n\na\n", [(1, 0, b"", True), (2, 1, b"", True), (3, 2, b"a", True)], id="empty"
        ),
        pytest.param(
            b"a\r\nb\x0bc\x0c\x1c\x1d\x1e\xe2\x80\xa8\xe2\x80\xa9\xc2\x85\rd\n",
            [
                (1, 0, b"a\r", True),
                (2, 3, b"b\x0bc\x0c\x1c\x1d\x1e\xe2\x80\xa8\xe2\x80\xa9\xc2\x85\rd", True),
            ],
            id="F081: what str.splitlines would split is data",
        ),
    ],
)
def test_only_line_feed_ends_a_line(content: bytes, expected: list[Line]) -> None:
    """Numbers, offsets and ends are those of the file."""
    assert list(split_lines([content] if content else [], "name")) == expected


@given(st.lists(st.binary(max_size=6) | st.sampled_from([b"\n", b"\n\n", b"a\nb"])))
def test_chunks_do_not_matter(chunks: list[bytes]) -> None:
    """Lines, joined again, are the file; offsets say where each is in it."""
    whole = b"".join(chunks)
    found = list(split_lines(chunks, "name"))
    assert b"".join(line.content + b"\n" * line.ended for line in found) == whole
    assert [line.number for line in found] == list(range(1, len(found) + 1))
    assert all(whole[line.offset :].startswith(line.content) for line in found)
    assert all(b"\n" not in line.content for line in found)


@pytest.mark.parametrize(
    ("chunks", "line", "offset"),
    [
        pytest.param([b"12345\n"], 1, 0, id="in one chunk"),
        pytest.param([b"1\n12", b"34", b"5"], 2, 2, id="over chunks"),
        pytest.param([b"1\n12", b"34", b"5\n"], 2, 2, id="over chunks, ended"),
        pytest.param([b"1\n2\n12345"], 3, 4, id="last line"),
    ],
)
def test_a_line_is_bounded(chunks: list[bytes], line: int, offset: int) -> None:
    """A line beyond the limit is refused where it starts; one at the limit is read."""
    assert [found.content for found in split_lines([b"1234\n", b"1234"], "f", limit=4)] == [
        b"1234",
        b"1234",
    ]
    with pytest.raises(InvalidTrace, match="longer than 4 bytes") as refusal:
        list(split_lines(chunks, "f", limit=4))
    assert (refusal.value.place.line, refusal.value.place.offset) == (line, offset)


def test_a_line_too_long_is_not_read_to_its_end() -> None:
    """What follows the limit is never asked for, so that memory stays bounded."""
    asked = 0

    def endless() -> object:
        nonlocal asked
        while True:
            asked += 1
            yield b"x" * 10

    with pytest.raises(InvalidTrace):
        next(split_lines(endless(), "f", limit=100))  # type: ignore[arg-type]
    assert asked == 11


def test_a_long_line_in_many_chunks_is_joined_once() -> None:
    """A line of 20,000 chunks comes in one piece."""
    (line,) = split_lines([b"x"] * 20_000, "f")
    assert line == Line(1, 0, b"x" * 20_000, ended=False)
