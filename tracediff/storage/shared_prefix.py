"""How far two files are the same, byte for byte, without reading what the bytes mean.

Knows files and line feeds. Must not know JSON or events.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tracediff.storage.sources import open_source

_BLOCK: Final = 1 << 18
_WORTH_TWO_THREADS: Final = 1 << 25
"""Bytes from which two threads compare faster than one: copying out of the page cache is what
takes the time."""


@dataclass(frozen=True, slots=True)
class SharedPrefix:
    """Whole lines at the start of both files that are the same: `size` bytes of them.

    `identical` says that the files are the same to the end, wherever their last line ends.
    """

    size: int
    identical: bool


def find_shared_prefix(left: Path, right: Path) -> SharedPrefix:
    """Return the longest run of whole equal lines at the start of two files.

    Raises StorageError where a file cannot be read. The files must not shrink meanwhile.
    """
    with open_source(left) as left_stream, open_source(right) as right_stream:
        files = left_stream.fileno(), right_stream.fileno()
        sizes = [os.fstat(file).st_size for file in files]
        shared = min(sizes)
        first = _first_difference(files, shared)
        if first is None and sizes[0] == sizes[1]:
            return SharedPrefix(shared, identical=True)
        return SharedPrefix(_line_start(files[0], shared if first is None else first), False)


def _first_difference(files: tuple[int, int], size: int) -> int | None:
    """Return the offset of the first differing byte below `size`, None where there is none."""
    if size < _WORTH_TWO_THREADS:
        return _search(files, 0, size)
    middle = size // 2
    # Loaded for large files only.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as threads:
        found = threads.map(lambda span: _search(files, *span), ((0, middle), (middle, size)))
        return next((offset for offset in found if offset is not None), None)


def _search(files: tuple[int, int], start: int, end: int) -> int | None:
    buffers = bytearray(_BLOCK), bytearray(_BLOCK)
    while start < end:
        wanted = min(_BLOCK, end - start)
        counts = [
            os.preadv(file, [memoryview(buffer)[:wanted]], start)
            for file, buffer in zip(files, buffers, strict=True)
        ]
        count = min(counts)
        if count < wanted or buffers[0] != buffers[1]:
            mine, other = (bytes(memoryview(buffer)[:count]) for buffer in buffers)
            if mine != other:
                return start + _first_unequal(mine, other)
        if count == 0:
            return start
        start += count
    return None


def _first_unequal(left: bytes, right: bytes) -> int:
    """Return the index of the first differing byte of two different byte strings, by halving."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high) // 2
        if left[low : middle + 1] == right[low : middle + 1]:
            low = middle + 1
        else:
            high = middle
    return low


def _line_start(file: int, offset: int) -> int:
    """Return the offset of the line that holds `offset`."""
    while offset > 0:
        start = max(0, offset - _BLOCK)
        found = os.pread(file, offset - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        offset = start
    return 0
