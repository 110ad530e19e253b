"""How far the elements of two tensors lie apart, and which ones the farthest.

Knows flat float64 arrays and shapes. Must not know rules: what is tolerable is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from tracediff.diff.panels import ElementError

Array: TypeAlias = "np.ndarray[Any, Any]"

MOST_TIES: Final = 1 << 20
"""Elements with one and the same error that are looked at to name the first of them."""

LONGEST_ROW: Final = 256
"""Elements of a tensor with one row from which it is shown as several rows."""


def absolute_errors(left: Array, right: Array) -> Array:
    """Return |left - right| of two flat arrays of numbers, float64.

    0 for NaN against NaN and for equal infinities, infinite for others. Integers that differ have
    an error of 1 at least: neighbours above 2^53 are the same float64.
    """
    with np.errstate(all="ignore"):
        errors: Array = np.abs(left.astype(np.float64) - right.astype(np.float64))
    same = left == right
    if left.dtype.kind == "f":
        same |= np.isnan(left) & np.isnan(right)
    elif left.dtype.kind in "iu":
        errors = np.maximum(errors, 1.0)
    errors[same] = 0.0
    errors[~np.isfinite(errors)] = np.inf
    return errors


def relative_l2(left: Array, right: Array) -> float:
    """Return ||l - r|| / max(||l||, ||r||) of the elements that are finite on both sides."""
    mine, other = left.astype(np.float64), right.astype(np.float64)
    finite = np.isfinite(mine) & np.isfinite(other)
    mine, other = mine[finite], other[finite]
    scale = float(max(np.abs(mine).max(initial=0.0), np.abs(other).max(initial=0.0)))
    if scale == 0.0:
        return 0.0
    # Halves first: the span of two finite numbers may be too large for a float64.
    mine, other = mine / scale / 2, other / scale / 2
    return float(np.linalg.norm(mine - other) / max(np.linalg.norm(mine), np.linalg.norm(other)))


def worst_elements(
    left: Array, right: Array, errors: Array, shape: Sequence[int], most: int
) -> Iterator[ElementError]:
    """Yield the elements with the largest errors, the first of equal ones first; none without one.

    Flat arrays in C order of `shape`; a complex element is two numbers, which count by themselves.
    """
    components = errors.size // max(1, int(np.prod(shape)))
    count = min(most, errors.size)
    edge = np.partition(errors, errors.size - count)[errors.size - count]
    above = np.flatnonzero(errors > edge)
    places = np.concatenate([above, np.flatnonzero(errors == edge)[:MOST_TIES]])
    order = places[np.argsort(-errors[places], kind="stable")][:count]
    for place in order[errors[order] > 0].tolist():
        absolute = float(errors[place])
        values = left[place].item(), right[place].item()
        larger = max(abs(float(value)) for value in values)
        relative = absolute / larger if np.isfinite(absolute) and larger > 0 else absolute
        index = np.unravel_index(place // components, tuple(shape)) if shape else ()
        yield ElementError(tuple(int(i) for i in index), *values, absolute, relative)


def as_matrix(errors: Array, shape: Sequence[int]) -> Array:
    """Return errors as rows of the last axis of `shape`; one long row is wrapped into several."""
    components = errors.size // max(1, int(np.prod(shape)))
    width = (shape[-1] if shape else 1) * components
    if errors.size == width > LONGEST_ROW:
        width = int(np.ceil(np.sqrt(width)))
        errors = np.concatenate([errors, np.zeros(-errors.size % width)])
    return errors.reshape(-1, width)
