"""The sketch of a tensor: 64 numbers whose differences tell how far two tensors lie apart.

Knows float64 numbers and their places; must not know element types or what is compared.

Component j is sum_i ±x_i / 8 with signs that are drawn once and for all: a random projection, so
that sketch(a) - sketch(b) = sketch(a - b) up to rounding, and its Euclidean norm estimates that of
a - b (`events.sketches` says how well). Which sign depends on j, on i, the place in C order, and on
how many numbers there are; not on values or machine.

A tensor of at most 1,024 numbers is multiplied by random signs, and 64 rows of the Hadamard matrix
of order 1,024 (Sylvester's), drawn once, give the components: the subsampled randomised Hadamard
transform of Ailon and Chazelle (STOC 2006). A larger one is first reduced to 1,024 buckets, each
the sum of numbers with random signs (Charikar, Chen and Farach-Colton, "Finding frequent items in
data streams", ICALP 2002). Signs are a stretch of one tape, from another random offset for each
block of 2^15 numbers; the block is then folded in halves, the second half rotated by a random
amount before it is added, so that no regular pattern (a column, a row) piles up in few buckets;
and it enters with a random sign of its own, so that the same signs of two blocks cannot conspire.

Signs, offsets, rotations and rows are BLAKE3's extendable output over a text that names them and
the seed: the same bits on every machine.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from blake3 import blake3

from tracediff.events.element_types import ELEMENT_TYPES, Float64Array
from tracediff.recording.decimals import Number, print_numbers
from tracediff.recording.flat_tensor import BLOCK
from tracediff.recording.scratch import Workspace, allocate

SKETCH_LENGTH = 64
BUCKETS = 1024
LANES = BLOCK // 4
"""Buckets while blocks are added, at most; folded to BUCKETS once, at the end."""

SKETCH_SEED = 0
"""The seed of every trace; others redraw the signs, for tests of the guarantee."""

_ALIGNED = 8
"""Offsets on the tape are multiples of this: 8 numbers are a cache line."""

_FOLDS = (BLOCK // 2, BLOCK // 4)
"""What the folds of a block leave."""

_BITS_AT_ONCE = 4

_DRAWS = 5
"""Random words a block: offset, one rotation for each fold, place, sign."""


@dataclass(frozen=True, slots=True)
class Tape:
    """What is drawn once for a seed.

    `signs`: ±1.0 [2 * BLOCK]; `rows`: the 64 rows of the Hadamard matrix, one of each residue
    modulo 64; `rotations` of the final folds, by the length that the fold leaves.
    """

    signs: Float64Array
    rows: npt.NDArray[np.int64]
    rotations: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Placement:
    """What is drawn for a block: where on the tape its signs start, how its folds rotate (by the
    length that the fold leaves), and where and with which sign it enters the lanes.
    """

    offset: int
    rotations: Mapping[int, int]
    place: int
    negative: bool


@functools.lru_cache(maxsize=4)
def draw_tape(seed: int = SKETCH_SEED) -> Tape:
    """Return the tape of `seed`, an integer from 0."""
    bits = np.unpackbits(np.frombuffer(_random_bytes("signs", seed, 2 * BLOCK // 8), np.uint8))
    # One row of each residue: no smaller matrix sees a row twice, and up to 64 numbers keep their
    # norm exactly.
    columns = _random_words("rows", seed, SKETCH_LENGTH) % np.uint64(BUCKETS // SKETCH_LENGTH)
    rows = np.arange(SKETCH_LENGTH) + SKETCH_LENGTH * columns.astype(np.int64)
    lengths = (LANES // 2, LANES // 4, LANES // 8)
    rotations = _random_words("rotations", seed, 3) % np.array(lengths, np.uint64)
    signs = allocate(2 * BLOCK)
    signs[...] = 1.0 - 2.0 * bits
    return Tape(signs, rows, dict(zip(lengths, rotations.tolist(), strict=True)))


@functools.lru_cache(maxsize=256)
def draw_words(seed: int, first: int, count: int) -> npt.NDArray[np.int64]:
    """Return what is drawn for the blocks `first` to `first + count`, int64 [count, 5], read-only.

    A row: offset, rotations of the first and the second fold, place, whether the sign is negative.
    """
    words = _random_words("placements", seed, _DRAWS * count, _DRAWS * first)
    moduli = np.array([BLOCK // _ALIGNED, *_FOLDS, LANES, 2], np.uint64)
    drawn = (words.reshape(count, _DRAWS) % moduli).astype(np.int64)
    drawn[:, 0] *= _ALIGNED
    drawn.setflags(write=False)
    return drawn


@functools.lru_cache(maxsize=256)
def draw_placements(seed: int, first: int, count: int) -> tuple[Placement, ...]:
    """Return the placements of the blocks `first` to `first + count`."""
    return tuple(
        Placement(offset, dict(zip(_FOLDS, rotations, strict=True)), place, negative == 1)
        for offset, *rotations, place, negative in draw_words(seed, first, count).tolist()
    )


class SketchSums:
    """Buckets of the numbers of one tensor, which come in blocks."""

    def __init__(self, tape: Tape, size: int) -> None:
        self._tape = tape
        self._lanes = np.zeros(lane_count(size))

    def add(self, numbers: Float64Array, placement: Placement | None) -> None:
        """Add a block of at most BLOCK `numbers`, which are overwritten.

        A tensor of at most BUCKETS numbers is one block without a placement.
        """
        _add_block(self._tape.signs, self._lanes, numbers, placement)

    def project(self) -> Float64Array:
        """Return the components, float64 [64], 8 times too large; nothing can be added then."""
        buckets = _fold(self._lanes, BUCKETS, self._tape.rotations)
        # The rows of a smaller matrix are the beginnings of the larger one's rows.
        return _transform(buckets)[self._tape.rows % len(buckets)]


def lane_count(size: int) -> int:
    """Return how many lanes the blocks of a tensor of `size` numbers are added to."""
    return min(LANES, 1 << (size - 1).bit_length())


def _add_block(
    signs: Float64Array, lanes: Float64Array, numbers: Float64Array, placement: Placement | None
) -> None:
    size = len(numbers)
    if placement is None:
        np.multiply(numbers, signs[:size], lanes[:size])
        return
    np.multiply(numbers, signs[placement.offset : placement.offset + size], numbers)
    length = max(len(lanes), 1 << (size - 1).bit_length())
    if size < length:
        empty = np.zeros((length - size, *numbers.shape[1:]))
        numbers = np.concatenate([numbers, empty])
    numbers = _fold(numbers, len(lanes), placement.rotations)
    _add_rotated(lanes, numbers, placement.place % len(lanes), placement.negative)


def sketch_of(sums: Mapping[int, SketchSums]) -> tuple[Number, ...]:
    """Return the sketch of numbers added up by scale (as in `statistics`).

    64 float32 numbers, rounded once from float64, in their shortest decimal form. A component
    that float32 cannot hold is "Infinity" or "-Infinity"; below about 1e-45 it is 0.
    """
    scales = sorted(sums, reverse=True)
    total = sums[scales[0]].project()
    for scale in scales[1:]:
        total += sums[scale].project() * math.ldexp(1.0, scale - scales[0])
    total *= 1.0 / math.sqrt(SKETCH_LENGTH)
    total *= math.ldexp(1.0, scales[0])
    total += 0.0  # no -0.0
    return print_numbers(ELEMENT_TYPES["float32"], total.astype(np.float32))


def sketch_columns(
    seed: int, numbers: Float64Array, workspace: Workspace
) -> list[tuple[Number, ...]]:
    """Return the sketch of each column of `numbers` [size, columns], as it has it alone.

    `numbers` need no scale and are overwritten; they are at most BLOCK.
    """
    tape, (size, columns) = draw_tape(seed), numbers.shape
    length = lane_count(size)
    lanes = workspace.lanes[: length * columns].reshape(length, columns)
    lanes[...] = 0.0
    placement = draw_placements(seed, 0, 1)[0] if size > BUCKETS else None
    _add_block(tape.signs[:, None], lanes, numbers, placement)
    buckets = _fold(lanes, BUCKETS, tape.rotations)
    passed = workspace.passed[: buckets.size].reshape(buckets.shape)
    total = _transform_columns(buckets, passed)[tape.rows % len(buckets)]
    total *= 1.0 / math.sqrt(SKETCH_LENGTH)
    total += 0.0
    rows = total.T.astype(np.float32, order="C")
    if np.abs(rows).min(initial=1.0) == 0.0:  # printing all at once is for numbers of usual size
        return [print_numbers(ELEMENT_TYPES["float32"], row) for row in rows]
    printed = print_numbers(ELEMENT_TYPES["float32"], rows.reshape(-1))
    starts = range(0, len(printed), SKETCH_LENGTH)
    return [printed[start : start + SKETCH_LENGTH] for start in starts]


def _fold(numbers: Float64Array, length: int, rotations: Mapping[int, int]) -> Float64Array:
    """Add the second half, rotated, to the first until at most `length` numbers are left."""
    while len(numbers) > length:
        half = len(numbers) // 2
        kept = numbers[:half]
        _add_rotated(kept, numbers[half:], rotations[half])
        numbers = kept
    return numbers


def _add_rotated(
    target: Float64Array, addend: Float64Array, rotation: int, negative: bool = False
) -> None:
    operation = np.subtract if negative else np.add
    split = len(addend) - rotation
    kept = target[rotation:]
    operation(kept, addend[:split], kept)
    kept = target[:rotation]
    operation(kept, addend[split:], kept)


def _transform(numbers: Float64Array) -> Float64Array:
    """Return the product of Sylvester's Hadamard matrix with `numbers`; their count is 2^k.

    Each pass takes the top bit of the place, transforms it and makes it the lowest; after k passes
    every bit is where it was. `numbers` are overwritten.
    """
    half = len(numbers) // 2
    passed = np.empty_like(numbers)
    for _ in range(len(numbers).bit_length() - 1):
        np.add(numbers[:half], numbers[half:], passed[0::2])
        np.subtract(numbers[:half], numbers[half:], passed[1::2])
        numbers, passed = passed, numbers
    return numbers


def _transform_columns(numbers: Float64Array, passed: Float64Array) -> Float64Array:
    """Do to each column of `numbers` what `_transform` does; `passed` has the same shape.

    Here several top bits stay in place until all of them are transformed, so that long stretches
    of memory are added to each other: measured, that is four times as fast.
    """
    length, columns = numbers.shape
    bits = length.bit_length() - 1
    while bits:
        count = min(bits, _BITS_AT_ONCE)
        for bit in range(count):
            pairs = numbers.reshape(1 << bit, 2, -1)
            found = passed.reshape(pairs.shape)
            np.add(pairs[:, 0], pairs[:, 1], found[:, 0])
            np.subtract(pairs[:, 0], pairs[:, 1], found[:, 1])
            numbers, passed = passed, numbers
        done = numbers.reshape(1 << count, -1, columns)
        passed.reshape(-1, 1 << count, columns)[...] = done.swapaxes(0, 1)
        numbers, passed = passed, numbers
        bits -= count
    return numbers


def _random_bytes(what: str, seed: int, count: int, start: int = 0) -> bytes:
    source = blake3(f"tracediff sketch 1: {what}, seed {seed}".encode())
    return source.digest(length=count, seek=start)


def _random_words(what: str, seed: int, count: int, start: int = 0) -> npt.NDArray[np.uint64]:
    raw = _random_bytes(what, seed, 8 * count, 8 * start)
    return np.frombuffer(raw, "<u8").astype(np.uint64)
