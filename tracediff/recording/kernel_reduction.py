"""Statistics and sketches by the compiled loops of `kernels`: the same bits, sooner.

Knows which element types are exact as float32, and how tapes and placements are handed to the
loops. Must not know files, events, or how the loops work.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from tracediff.events.element_types import ELEMENT_TYPES, Array, ElementType
from tracediff.recording.census import Census, Extremes
from tracediff.recording.decimals import Number, print_numbers
from tracediff.recording.flat_tensor import BLOCK, SEGMENT, FlatTensor
from tracediff.recording.kernels import (
    MAXIMUM,
    MINIMUM,
    NEGATIVE_ZEROS,
    NONFINITE,
    SKETCH,
    SQUARES,
    STATE,
    SUM,
    UNCERTAIN,
    UNPRINTED,
    Float32Array,
    Float64Array,
    Int64Array,
    Kernels,
)
from tracediff.recording.scratch import Workspace
from tracediff.recording.sketch import (
    BUCKETS,
    SKETCH_LENGTH,
    draw_tape,
    draw_words,
    lane_count,
)
from tracediff.recording.statistics import EXACT_SUMS, LANES, mean_of_sum, norm_of_squares

_SINGLE = "float32"
_EXACT = (_SINGLE, "complex64", "float16", "bfloat16")
_NONFINITE_FROM = 0x7F800000
_NO_PLACEMENT = np.zeros((1, 5), np.int64)


class Found(NamedTuple):
    """Statistics of a tensor in the trace's order, and its sketch where one was wanted."""

    stats: dict[str, Number]
    sketch: tuple[Number, ...] | None


class _Tape(NamedTuple):
    """What is drawn once for a seed, as the loops take it."""

    signs: Float32Array
    rotations: Int64Array
    rows: Int64Array


def is_exact(element: ElementType) -> bool:
    """Whether float32 holds every number of this type."""
    return element.name in _EXACT


@functools.lru_cache(maxsize=4)
def _tape(seed: int) -> _Tape:
    drawn = draw_tape(seed)
    rotations = np.array(list(drawn.rotations.values()), np.int64)
    return _Tape(drawn.signs.astype(np.float32), rotations, drawn.rows.astype(np.int64))


def _placements(seed: int, size: int, start: int, stop: int) -> Int64Array:
    """Return the placements of the blocks from `start` to `stop`, within a segment."""
    if size <= BUCKETS:
        return _NO_PLACEMENT
    segment = start // SEGMENT
    count = -(-(min(size, (segment + 1) * SEGMENT) - segment * SEGMENT) // BLOCK)
    drawn = draw_words(seed, segment * (SEGMENT // BLOCK), count)
    return drawn[start % SEGMENT // BLOCK :][: -(-(stop - start) // BLOCK)]


def reduce_rows(
    kernels: Kernels, element: ElementType, rows: Array, seed: int | None, workspace: Workspace
) -> list[Found | None]:
    """Return what `summarise_tensor` finds of each row of `rows` [count, size], size up to BLOCK.

    `rows` are contiguous, aligned and of a type for which `is_exact`; without a `seed`, no sketch
    is made. None stands for a row that has to be done by itself, mostly because it is not finite.
    """
    size = rows.shape[1]
    found = np.zeros((len(rows), SKETCH + (0 if seed is None else SKETCH_LENGTH)))
    counted = np.empty((len(rows), STATE + 1), np.int64)
    tape = _tape(seed or 0)
    kernels.summarise_rows(
        _as_singles(element, rows),
        seed is not None,
        tape.signs,
        _NO_PLACEMENT if seed is None else _placements(seed, size, 0, size),
        tape.rotations,
        tape.rows,
        workspace.numbers,
        workspace.padded,
        found,
        counted,
    )
    counts = counted.tolist()
    printed = _print_rows(element, found, [row for row, count in enumerate(counts) if count[STATE]])
    return [_read_row(size, *pair, seed is not None) for pair in zip(printed, counts, strict=True)]


def _print_rows(element: ElementType, found: Float64Array, odd: list[int]) -> list[list[Number]]:
    """Return the numbers found, those of `odd` rows and the bounds of other types printed anew.

    Decimals are printed anew by way of the numbers that they stand for.
    """
    printed: list[list[Number]] = found.tolist()
    if not odd and element.name == _SINGLE:
        return printed
    for row in odd:
        printed[row][SKETCH:] = _print_singles(found[row, SKETCH:])
    bounds = found[:, MINIMUM : MAXIMUM + 1].reshape(-1).astype(np.float32)
    texts = print_numbers(element, _from_singles(element, bounds))
    for row, numbers in enumerate(printed):
        numbers[MINIMUM], numbers[MAXIMUM] = texts[2 * row], texts[2 * row + 1]
    return printed


def _read_row(size: int, numbers: list[Number], counts: list[int], sketched: bool) -> Found | None:
    if counts[STATE] & (NONFINITE | UNCERTAIN):
        return None
    stats: dict[str, Number] = {"finite": size}
    if counts[NEGATIVE_ZEROS]:
        stats["neg_zero"] = counts[NEGATIVE_ZEROS]
    stats["min"], stats["max"] = numbers[MINIMUM], numbers[MAXIMUM]
    stats["mean"] = mean_of_sum(float(numbers[SUM]), size)
    stats["l2"] = norm_of_squares(float(numbers[SQUARES]))
    return Found(stats, tuple(numbers[SKETCH:]) if sketched else None)


class KernelReduction:
    """Statistics and sketch of one tensor while it comes in, in ascending order.

    The tensor has at least one number, and a type for which `is_exact`.
    """

    def __init__(
        self, kernels: Kernels, tensor: FlatTensor, seed: int | None, workspace: Workspace
    ) -> None:
        self._kernels = kernels
        self._tensor = tensor
        self._seed = seed
        self._census = Census(tensor.element)
        self._tape = _tape(seed or 0)
        count = 0 if seed is None else lane_count(tensor.size)
        rooms = workspace.numbers.reshape(-1, LANES)
        self._sums, self._squares = rooms[0, : tensor.size], rooms[1, : tensor.size]
        self._lanes, self._room = rooms[2, :count], rooms[3]
        self._padded, self._singles = workspace.padded, workspace.singles
        self._counted = _nothing_counted()
        for lanes in (self._sums, self._squares, self._lanes):
            lanes[...] = 0.0

    def add(self, start: int, stop: int) -> None:
        """Add the numbers `start` to `stop`: whole blocks, or up to the end."""
        ready = self._tensor.flat if _is_ready(self._tensor) else None
        while start < stop:
            end = min(stop, (start // SEGMENT + 1) * SEGMENT)
            if ready is not None:
                start += BLOCK * self._add(ready[start:end], start, self._counted)
            if start < end:  # a block that is to be converted or has what is not finite
                self._add_block(start, min(start + BLOCK, end))
                start += BLOCK

    def _add_block(self, start: int, stop: int) -> None:
        block = self._tensor.read(start, stop)
        singles = self._singles[: stop - start]
        singles[...] = _as_singles(self._tensor.element, block)
        if self._add(singles, start, self._counted):
            return
        _, nonfinite = self._census.add_block(start // BLOCK, block)
        singles[nonfinite] = 0.0
        self._add(singles, start, _nothing_counted())

    def _add(self, numbers: Float32Array, start: int, counted: Int64Array) -> int:
        """Add blocks up to the first with a number that is not finite; return how many."""
        placements = _NO_PLACEMENT
        if self._seed is not None:
            stop = start + len(numbers)
            placements = _placements(self._seed, self._tensor.size, start, stop)
        return self._kernels.add_blocks(
            numbers,
            self._tape.signs,
            placements,
            self._sums,
            self._squares,
            self._lanes,
            self._padded,
            counted,
        )

    def finish(self) -> Found:
        """Return what was found; nothing can be added then."""
        found = np.empty(SKETCH + SKETCH_LENGTH)
        tape = self._tape
        state = self._kernels.add_up(
            self._sums, self._squares, self._lanes, tape.rotations, tape.rows, self._room, found
        )
        total, squares = float(found[SUM]), float(found[SQUARES])
        if state & UNCERTAIN:
            total, squares = _add_rest(self._sums), _add_rest(self._squares)
        stats = self._count() | self._census.bounds()
        count = self._tensor.size - self._census.nonfinite
        if count:
            stats["mean"] = mean_of_sum(total, count)
        stats["l2"] = norm_of_squares(squares)
        if self._seed is None:
            return Found(stats, None)
        sketch = found[SKETCH:]
        return Found(stats, _print_singles(sketch) if state & UNPRINTED else tuple(sketch.tolist()))

    def _count(self) -> dict[str, Number]:
        low, high, negative_zeros, _ = self._counted.tolist()
        if low <= high:
            element = self._tensor.element
            extremes = Extremes(_key_of(element, low), _key_of(element, high))
            self._census.add_finite(extremes, negative_zeros)
        return self._census.counts(self._tensor.size)


def _is_ready(tensor: FlatTensor) -> bool:
    """Whether the loops can read the tensor where it lies."""
    flat = tensor.flat
    return flat is not None and flat.dtype == np.float32 and flat.flags.aligned


def _nothing_counted() -> Int64Array:
    return np.array([_NONFINITE_FROM, -_NONFINITE_FROM, 0, 0], np.int64)


def _key_of(element: ElementType, key: int) -> int:
    """Return as an integer of `element` what is `key` as one of float32; see `Extremes`."""
    if element.component == np.float32:
        return key
    single = np.array([abs(key)], np.int32).view(np.float32)
    layout = element.layout
    assert layout is not None
    bits = int(_from_singles(element, single).view(layout.unsigned)[0])
    return bits if key >= 0 else -bits


def _add_rest(lanes: Float64Array) -> float:
    """Add up what the loops left at the beginning of the lanes when they folded them."""
    size = len(lanes)
    while size > EXACT_SUMS:
        size = (size + 1) // 2
    return math.fsum(lanes[:size].tolist())


def _print_singles(numbers: Float64Array) -> tuple[Number, ...]:
    return print_numbers(ELEMENT_TYPES[_SINGLE], numbers.astype(np.float32))


def _as_singles(element: ElementType, numbers: Array) -> Float32Array:
    """Return the numbers as float32, themselves where they are."""
    if numbers.dtype == np.float32:
        return numbers
    if element.name == "bfloat16":  # the upper half of a float32
        return np.left_shift(numbers, np.uint32(16), dtype=np.uint32).view(np.float32)
    with np.errstate(invalid="ignore"):  # a signalling NaN is a NaN
        return numbers.astype(np.float32)


def _from_singles(element: ElementType, numbers: Float32Array) -> Array:
    """Return numbers that were of this type as its own bits again."""
    if element.name == "bfloat16":
        return (numbers.view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    return numbers.astype(element.component, copy=False)
