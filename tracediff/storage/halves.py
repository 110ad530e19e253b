"""Where two files of corresponding lines can be cut in two.

Knows lines as bytes and how a canonical line starts. Must not know what lines mean.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

from tracediff.storage.names import compression_of
from tracediff.storage.trace_file import TraceFile

WORTH_HALVES: Final = 1 << 26
"""Bytes from which a second process pays for its start."""

_HEAD: Final = 1 << 12
_WINDOW: Final = 1 << 22
_HEAD_ENDS: Final = b',"component":'


@dataclass(frozen=True, slots=True)
class Halves:
    """Offsets of the line at which the second half of each file starts."""

    left: int
    right: int


def find_halves(left: TraceFile, right: TraceFile, start: int) -> Halves | None:
    """Return where both files continue with one event about half way from `start` to the end.

    None for files that are small or compressed, with one processor, or where no line of right
    starts as the middle one of left does. That the halves correspond is for the walk to see.
    """
    if compression_of(left.path) or compression_of(right.path) or (os.cpu_count() or 1) < 2:
        return None
    size, other_size = left.path.stat().st_size, right.path.stat().st_size
    if size - start < WORTH_HALVES:
        return None
    with left.path.open("rb") as mine, right.path.open("rb") as other:
        mine.seek(start + (size - start) // 2)
        mine.readline()
        place = mine.tell()
        head, found, _ = mine.read(_HEAD).partition(_HEAD_ENDS)
        if not found or b"\n" in head:
            return None
        near = max(start, int(place * (other_size / size)) - _WINDOW // 2)
        other.seek(near)
        window = other.read(_WINDOW)
        at = window.find(b"\n" + head + _HEAD_ENDS)
        return None if at < 0 else Halves(place, near + at + 1)
