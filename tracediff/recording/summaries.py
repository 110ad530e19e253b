"""Summaries of many small tensors at once, each the same to the bit as the tensor's own.

Knows which tensors can share their work: those of one element type and size. Must not know files
or events. A call into numpy costs as much as a small tensor does; side by side they share it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tracediff.events.digest import TensorDigest
from tracediff.events.element_types import Array, ElementType, decode, resolve_element_type
from tracediff.recording.decimals import Number, print_numbers
from tracediff.recording.flat_tensor import BLOCK
from tracediff.recording.levels import TensorLevel
from tracediff.recording.scratch import Workspace
from tracediff.recording.sketch import (
    BUCKETS,
    SKETCH_SEED,
    SketchSums,
    draw_placements,
    draw_tape,
    row_sketches_of,
)
from tracediff.recording.statistics import RunningSums, mean_of_sum, norm_of_squares
from tracediff.recording.summary import TensorSummary, summarise_tensor

_AT_ONCE = BLOCK
"""Numbers side by side, at most: what a workspace holds, and a core's cache."""

_FEWEST = 3
"""Tensors from which sharing is worth its set-up."""


class Held(NamedTuple):
    """An array to summarise, its element type's name where the array holds raw bits, its level."""

    array: Array
    dtype: str | None
    level: TensorLevel


@dataclass(frozen=True, slots=True)
class _Kind:
    """What tensors have to have in common."""

    element: ElementType
    size: int
    sketched: bool


def summarise_all(
    tensors: Sequence[Held], workspace: Workspace | None = None
) -> list[TensorSummary]:
    """Return the summary of each tensor, as `summarise_tensor` does, in the order given.

    `workspace` is memory that the calling thread keeps.
    """
    workspace = workspace or Workspace()
    found: dict[int, TensorSummary] = {}
    groups: dict[_Kind, list[int]] = {}
    for place, held in enumerate(tensors):
        kind = _kind_of(held)
        if kind is not None:
            groups.setdefault(kind, []).append(place)
    for kind, places in groups.items():
        if len(places) >= _FEWEST:
            for some in _portions(places, max(1, _AT_ONCE // kind.size)):
                shared = _summarise_rows(kind, [tensors[place].array for place in some], workspace)
                found.update(
                    (place, summary)
                    for place, summary in zip(some, shared, strict=True)
                    if summary is not None
                )
    return [
        found.get(place)
        or summarise_tensor(
            held.array, dtype=held.dtype, level=held.level, threads=1, workspace=workspace
        )
        for place, held in enumerate(tensors)
    ]


def _kind_of(held: Held) -> _Kind | None:
    """Return what a tensor has to share, None where it is done alone.

    Shared are contiguous tensors of real floating-point numbers below 64 bits, in one block, of
    which no values are kept.
    """
    array, level = held.array, held.level
    valued = level.name != "digest" and array.size <= level.values_up_to
    if valued or not 0 < array.size <= BLOCK or not array.flags.c_contiguous:
        return None
    element, _ = resolve_element_type(array, held.dtype)
    if element.layout is None or element.component.itemsize > 4 or element.components > 1:
        return None
    return _Kind(element, array.size, level.name != "digest") if array.dtype.isnative else None


def _portions(places: list[int], length: int) -> Iterator[list[int]]:
    for start in range(0, len(places), length):
        yield places[start : start + length]


def _summarise_rows(
    kind: _Kind, arrays: list[Array], workspace: Workspace
) -> list[TensorSummary | None]:
    """Return the summaries; None for a tensor with -0.0 or with what is not finite."""
    element, size = kind.element, kind.size
    rows: Array = np.empty((len(arrays), size), element.component)
    for row, array in zip(rows, arrays, strict=True):
        row[...] = array.reshape(-1).view(element.component)
    lows, highs, ordinary = _bounds(element, rows)
    numbers, scratch = (
        room[: rows.size].reshape(size, -1) for room in (workspace.numbers, workspace.scratch)
    )
    decode(element, rows.T, numbers)
    numbers[:, ~ordinary] = 0.0
    sums = RunningSums(size, len(arrays))
    sums.add(numbers, scratch)
    sketches: list[tuple[Number, ...] | None] = [None] * len(arrays)
    if kind.sketched:
        sketches = [*_sketch_rows(numbers)]
    found: list[TensorSummary | None] = []
    for place, (total, squares) in enumerate(sums.row_sums()):
        if not ordinary[place]:
            found.append(None)
            continue
        digest = TensorDigest(element.name, arrays[place].shape)
        digest.update(rows[place])
        stats: dict[str, Number] = {
            "finite": size,
            "min": lows[place],
            "max": highs[place],
            "mean": mean_of_sum(total, size),
            "l2": norm_of_squares(squares),
        }
        shape = arrays[place].shape
        found.append(
            TensorSummary(element.name, shape, digest.text(), stats, sketches[place], None)
        )
    return found


def _sketch_rows(numbers: Array) -> list[tuple[Number, ...]]:
    """Return the sketch of each column of `numbers`, which are overwritten."""
    size, columns = numbers.shape
    sums = SketchSums(draw_tape(SKETCH_SEED), size, columns)
    sums.add(numbers, draw_placements(SKETCH_SEED, 0, 1)[0] if size > BUCKETS else None)
    return row_sketches_of(sums)


def _bounds(
    element: ElementType, rows: Array
) -> tuple[tuple[Number, ...], tuple[Number, ...], Array]:
    """Return printed minima and maxima of rows, and which rows are ordinary.

    As `census.find_extremes` does: integer reductions are the fastest, and NaN does not disturb
    them. An ordinary row has no -0.0 and nothing that is not finite.
    """
    layout = element.layout
    assert layout is not None
    signed = rows.view(layout.signed)
    least, most = np.minimum.reduce(signed, axis=1), np.maximum.reduce(signed, axis=1)
    most_negative = np.maximum.reduce(rows.view(layout.unsigned), axis=1)
    wide_least, wide_most = least.astype(np.int64), most.astype(np.int64)
    beyond = most_negative.astype(np.int64) & (layout.sign_bit - 1)
    finite = (wide_most < layout.nonfinite_from) & (
        (wide_least >= 0) | (beyond < layout.nonfinite_from)
    )
    ordinary = finite & (wide_least != -layout.sign_bit)
    lows = np.where(wide_least < 0, most_negative, least.view(layout.unsigned))
    highs = np.where(wide_most < 0, least.view(layout.unsigned), most.view(layout.unsigned))
    return (*(_printed(element, bits) for bits in (lows, highs)), ordinary)


def _printed(element: ElementType, bits: Array) -> tuple[Number, ...]:
    return print_numbers(element, bits.view(element.component))
