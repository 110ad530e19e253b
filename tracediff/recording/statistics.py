"""Mean and L2 norm in float64, in an order that no machine, library or thread count changes.

Knows float64 numbers; must not know element types or where the numbers come from. Every sum is
made of elementwise additions and of `math.fsum`, which rounds once: library reductions such as
`numpy.sum` choose their order by the machine's vector width.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping

import numpy as np

from tracediff.events.element_types import Float64Array
from tracediff.recording.flat_tensor import BLOCK

LANES = BLOCK // 4
"""Running sums kept side by side."""

EXACT_SUMS = 64
"""Partial sums left to `math.fsum`, which costs more a number than an addition in numpy."""

SCALE = 600
"""Numbers too large or too small to square are multiplied by 2^-600 or 2^600 beforehand."""

_PLAIN = 400
"""Where the largest number is from 2^-400 to 2^400, squares neither overflow nor lose bits."""


def choose_scale(largest: int) -> int:
    """Return the power of two by which numbers are to be divided before they are added up.

    `largest` is the bits of their largest absolute value as float64. The result is 0, `SCALE` or
    -`SCALE`; numbers of one scale are added up together. Source of the idea: Blue, "A portable
    Fortran program to find the Euclidean norm of a vector", TOMS 4 (1978).
    """
    exponent = (largest >> 52) - 1023
    if exponent >= _PLAIN:
        return SCALE
    return -SCALE if exponent < -_PLAIN and largest else 0


class RunningSums:
    """Sum and sum of squares of numbers that come in blocks, in a fixed order.

    The sum is accurate to about 1e-15 of the sum of absolute values; the sum of squares to about
    1e-15 of itself.
    """

    def __init__(self, size: int) -> None:
        self._sums = np.zeros(min(size, LANES))
        self._squares = np.zeros(min(size, LANES))

    def add(self, numbers: Float64Array, scratch: Float64Array) -> None:
        """Add a block of at most BLOCK `numbers`, which stay; `scratch` is as long."""
        folded = numbers
        if len(numbers) > LANES:
            half = (len(numbers) + 1) // 2
            rest = len(numbers) - half
            np.add(numbers[:rest], numbers[half:], scratch[:rest])
            if rest < half:
                scratch[rest:half] = numbers[rest:half]
            folded = _fold(scratch[:half], LANES)
        _add_to(self._sums, folded)
        np.square(numbers, scratch)
        _add_to(self._squares, _fold(scratch, LANES))

    def sum(self) -> float:
        """Return the sum so far."""
        return _total(self._sums)

    def squares(self) -> float:
        """Return the sum of squares so far."""
        return _total(self._squares)


def sums_of_columns(numbers: Float64Array, scratch: Float64Array) -> list[tuple[float, float]]:
    """Return sum and sum of squares of each column, those that `RunningSums` gives for it alone.

    `numbers` [size, columns], with at most LANES numbers a column and no -0.0, stay; `scratch` has
    the same shape.
    """
    size, folded = len(numbers), numbers
    if size > EXACT_SUMS:
        half, rest = (size + 1) // 2, size // 2
        np.add(numbers[:rest], numbers[half:], scratch[:rest])
        scratch[rest:half] = numbers[rest:half]
        folded = _fold(scratch[:half], EXACT_SUMS)
    sums = [math.fsum(column) for column in folded.T.tolist()]
    np.square(numbers, scratch)
    squares = [math.fsum(column) for column in _fold(scratch, EXACT_SUMS).T.tolist()]
    return list(zip(sums, squares, strict=True))


def mean_of(sums: Mapping[int, RunningSums], count: int) -> float:
    """Return the mean of `count` numbers, added up by scale. Never overflows."""
    total, scale = _join({scale: part.sum() for scale, part in sums.items()})
    # A mean of the largest numbers may round to beyond them.
    return max(-sys.float_info.max, min(sys.float_info.max, _scaled(total / count, scale)))


def mean_of_sum(total: float, count: int) -> float:
    """Return the mean of `count` numbers that needed no scale."""
    return total / count + 0.0


def norm_of_squares(squares: float) -> float:
    """Return the L2 norm of numbers that needed no scale."""
    return math.sqrt(squares)


def norm_of(sums: Mapping[int, RunningSums]) -> float:
    """Return the L2 norm of numbers added up by scale; infinity where float64 cannot hold it."""
    total, scale = _join({2 * scale: part.squares() for scale, part in sums.items()})
    return _scaled(math.sqrt(total), scale // 2)


def _join(parts: Mapping[int, float]) -> tuple[float, int]:
    """Return the sum of `parts`, each divided by 2^scale, and the scale that the sum is left in.

    It is the largest of a part other than 0: what is lost of smaller ones is beyond float64.
    """
    top = max((scale for scale, part in parts.items() if part), default=0)
    return math.fsum(math.ldexp(part, scale - top) for scale, part in parts.items() if part), top


def _scaled(value: float, exponent: int) -> float:
    try:
        return math.ldexp(value, exponent) + 0.0  # a zero loses its sign
    except OverflowError:
        return math.copysign(math.inf, value)


def _fold(numbers: Float64Array, length: int) -> Float64Array:
    """Add the second half to the first until at most `length` are left; overwrites `numbers`."""
    size = len(numbers)
    while size > length:
        half = (size + 1) // 2
        kept = numbers[: size - half]
        np.add(kept, numbers[half:size], kept)
        size = half
    return numbers[:size]


def _add_to(lanes: Float64Array, numbers: Float64Array) -> None:
    kept = lanes[: len(numbers)]
    np.add(kept, numbers, kept)


def _total(lanes: Float64Array) -> float:
    folded: list[float] = _fold(lanes.copy(), EXACT_SUMS).tolist()
    return math.fsum(folded)
