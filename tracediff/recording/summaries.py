"""Summaries of many small tensors at once, each the same to the bit as the tensor's own.

Knows which tensors can share their work: those of one element type and size. Must not know files
or events. A call into numpy costs as much as a small tensor does; side by side they share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tracediff.events.arithmetic import usual_arithmetic
from tracediff.events.digest import digest_at_once, stored_bytes
from tracediff.events.element_types import Array, ElementType, decode, resolve_element_type
from tracediff.recording.decimals import Number, print_numbers
from tracediff.recording.flat_tensor import BLOCK, cut
from tracediff.recording.kernel_reduction import Found, is_exact, reduce_rows
from tracediff.recording.levels import TensorLevel
from tracediff.recording.scratch import Workspace
from tracediff.recording.sketch import SKETCH_SEED, sketch_columns
from tracediff.recording.statistics import LANES, mean_of_sum, norm_of_squares, sums_of_columns
from tracediff.recording.summary import TensorSummary, summarise_tensor

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
    found: list[TensorSummary | None] = [None] * len(tensors)
    groups: dict[tuple[object, ...], list[int]] = {}
    for place, (array, dtype, level) in enumerate(tensors):
        contiguous = array.flags.c_contiguous
        alike = (array.dtype, array.size, contiguous, dtype, level.name, level.values_up_to)
        groups.setdefault(alike, []).append(place)
    for places in groups.values():
        kind = _kind_of(tensors[places[0]]) if len(places) >= _FEWEST else None
        if kind is None:
            continue
        with usual_arithmetic():
            shared = _summarise_rows(kind, [tensors[place].array for place in places], workspace)
        for place, summary in zip(places, shared, strict=True):
            found[place] = summary
    return [
        summary
        or summarise_tensor(
            held.array, dtype=held.dtype, level=held.level, threads=1, workspace=workspace
        )
        for held, summary in zip(tensors, found, strict=True)
    ]


def _kind_of(held: Held) -> _Kind | None:
    """Return what a tensor has to share, None where it is done alone.

    Shared are contiguous tensors of real floating-point numbers below 64 bits, at most one for
    each lane of the sums, of which no values are kept.
    """
    array, level = held.array, held.level
    valued = level.name != "digest" and array.size <= level.values_up_to
    if valued or not 0 < array.size <= LANES or not array.flags.c_contiguous:
        return None
    element, _ = resolve_element_type(array, held.dtype)
    if element.layout is None or element.component.itemsize > 4 or element.components > 1:
        return None
    return _Kind(element, array.size, level.name != "digest") if array.dtype.isnative else None


def _summarise_rows(
    kind: _Kind, arrays: list[Array], workspace: Workspace
) -> list[TensorSummary | None]:
    """Return the summaries; None for a tensor with -0.0 or with what is not finite."""
    element, size = kind.element, kind.size
    storage = element.storage  # of raw bits, not the type that the array itself has
    rows: Array = np.concatenate([array.reshape(-1).view(storage) for array in arrays])
    rows = rows.reshape(-1, size)
    kernels = workspace.kernels
    if kernels is not None and is_exact(element):
        seed = SKETCH_SEED if kind.sketched else None
        return _hash_rows(kind, arrays, rows, reduce_rows(kernels, element, rows, seed, workspace))
    lows, highs, ordinary = _bounds(element, rows)
    sums: list[tuple[float, float]] = []
    sketches: list[tuple[Number, ...] | None] = []
    for start, stop in cut(0, len(rows), max(1, BLOCK // size)):
        _reduce_rows(kind, rows[start:stop], ordinary[start:stop], workspace, sums, sketches)
    reduced: list[Found | None] = [None] * len(rows)
    for place in np.flatnonzero(ordinary).tolist():
        total, squares = sums[place]
        stats: dict[str, Number] = {
            "finite": size,
            "min": lows[place],
            "max": highs[place],
            "mean": mean_of_sum(total, size),
            "l2": norm_of_squares(squares),
        }
        reduced[place] = Found(stats, sketches[place])
    return _hash_rows(kind, arrays, rows, reduced)


def _hash_rows(
    kind: _Kind, arrays: list[Array], rows: Array, reduced: list[Found | None]
) -> list[TensorSummary | None]:
    """Return the summaries of the tensors that are reduced already, by hashing them."""
    stored, width = stored_bytes(rows), rows.itemsize * kind.size
    name = kind.element.name
    found: list[TensorSummary | None] = []
    for place, (array, reduction) in enumerate(zip(arrays, reduced, strict=True)):
        if reduction is None:
            found.append(None)
            continue
        digest = digest_at_once(name, array.shape, stored[place * width : (place + 1) * width])
        found.append(TensorSummary(name, array.shape, digest, *reduction))
    return found


def _reduce_rows(
    kind: _Kind,
    rows: Array,
    ordinary: Array,
    workspace: Workspace,
    sums: list[tuple[float, float]],
    sketches: list[tuple[Number, ...] | None],
) -> None:
    """Add sum, sum of squares and sketch of some rows to those found.

    Each row becomes a column: folding in halves then adds long stretches of memory to each other.
    """
    numbers, scratch = (
        room[: rows.size].reshape(kind.size, -1) for room in (workspace.numbers, workspace.scratch)
    )
    decode(kind.element, rows.T, numbers)
    if not ordinary.all():
        numbers[:, ~ordinary] = 0.0
    sums += sums_of_columns(numbers, scratch)
    if kind.sketched:
        sketches += sketch_columns(SKETCH_SEED, numbers, workspace)
    else:
        sketches += [None] * len(rows)


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
    bits: Array = np.concatenate([lows, highs]).astype(layout.unsigned, copy=False)
    printed = print_numbers(element, bits.view(element.component))
    return printed[: len(rows)], printed[len(rows) :], ordinary
