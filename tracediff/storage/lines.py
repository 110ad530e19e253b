"""A file as lines of bytes: numbers, offsets, line ends.

Knows where a line starts and ends, in bounded memory; must not know what it says. Only LF ends a
line: U+2028, U+2029, NEL and CR are data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from tracediff.errors import InvalidTrace, Place

MAX_LINE: Final = 64 << 20
"""Bytes that a line may have."""


class Line(NamedTuple):  # one is made for every line of a file: a dataclass costs three times that
    """One line of a file.

    `number` counts from 1, `offset` is where it starts in the decompressed file, `content` has no
    line end, `ended` says whether one was there.
    """

    number: int
    offset: int
    content: bytes
    ended: bool


def split_lines(chunks: Iterable[bytes], name: str, *, limit: int = MAX_LINE) -> Iterator[Line]:
    """Yield the lines of a file that comes in chunks.

    What an error in `chunks` cuts off is not yielded. Raises InvalidTrace for a line of more than
    `limit` bytes as soon as that is known.
    """
    number, offset = 1, 0
    begun: list[bytes] = []  # the parts of a line whose end has not come yet
    size = 0
    for chunk in chunks:
        first, *others = chunk.split(b"\n")
        begun.append(first)
        size += len(first)
        if others:
            last = others.pop()
            for content in (b"".join(begun), *others):
                if len(content) > limit:
                    raise _too_long(name, number, offset, limit)
                yield Line(number, offset, content, ended=True)
                number += 1
                offset += len(content) + 1
            begun, size = [last], len(last)
        if size > limit:
            raise _too_long(name, number, offset, limit)
    if size:
        yield Line(number, offset, b"".join(begun), ended=False)


def _too_long(name: str, number: int, offset: int, limit: int) -> InvalidTrace:
    return InvalidTrace(
        Place(name, number, offset), f"the line is longer than {limit} bytes, which is the limit"
    )
