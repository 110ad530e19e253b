"""A tensor as one row of numbers in C order, read piece by piece without a full copy.

Knows memory layouts and byte orders; must not know what the numbers mean.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tracediff.events.element_types import Array, ElementType

BLOCK = 1 << 15
"""Numbers reduced at a time: with its scratch memory (64-bit), a block fits a core's cache."""

SEGMENT = 128 * BLOCK
"""Numbers handed from thread to thread at a time; a fixed number of blocks."""


@dataclass(frozen=True, slots=True)
class FlatTensor:
    """The real numbers of a tensor in C order, native byte order.

    `array` holds the element's storage dtype in any layout; `flat` is its one-dimensional view
    where it is contiguous and of native byte order, else None. A complex element is two numbers,
    the real and the imaginary part.
    """

    element: ElementType
    array: Array
    flat: Array | None
    size: int

    def read(self, start: int, stop: int) -> Array:
        """Return the numbers `start` to `stop`: a view where possible, else a copy."""
        if self.flat is not None:
            return self.flat[start:stop]
        components = self.element.components
        copy = np.empty((stop - start) // components, self.element.storage)
        _copy_range(self.array, start // components, stop // components, copy)
        return copy.view(self.element.component)

    def pieces(self, start: int, stop: int) -> Iterator[Array]:
        """Yield the numbers `start` to `stop`, at once where that needs no copy."""
        if self.flat is not None:
            yield self.flat[start:stop]
            return
        for begin, end in cut(start, stop, BLOCK):
            yield self.read(begin, end)


def flatten(element: ElementType, array: Array) -> FlatTensor:
    """Return `array`, of the element's storage dtype in any layout and byte order, as a row."""
    if not array.size:
        array = np.empty(0, element.storage)
    elif not array.ndim:
        array = array.reshape(1)
    size = array.size * element.components
    if array.flags.c_contiguous and array.dtype.isnative:
        flat = array.reshape(-1)
        if element.components > 1:
            flat = flat.view(element.component)
        return FlatTensor(element, array, flat, size)
    return FlatTensor(element, array, None, size)


def cut(start: int, stop: int, length: int) -> Iterator[tuple[int, int]]:
    """Yield the bounds of consecutive ranges of `length`, the last one shorter."""
    for begin in range(start, stop, length):
        yield begin, min(begin + length, stop)


def _copy_range(array: Array, start: int, stop: int, out: Array) -> None:
    """Copy the elements `start` to `stop` of the C order of `array` to the one-dimensional `out`.

    Whole rows are copied at once; a row of which only a part is wanted is entered.
    """
    if array.ndim == 1:
        out[...] = array[start:stop]
        return
    row = math.prod(array.shape[1:])
    first, last = -(-start // row), stop // row
    if first > last:  # all within one row
        _copy_range(array[last], start - last * row, stop - last * row, out)
        return
    head, body = first * row - start, (last - first) * row
    if head:
        _copy_range(array[first - 1], row - head, row, out[:head])
    if body:
        out[head : head + body].reshape(last - first, *array.shape[1:])[...] = array[first:last]
    if head + body < out.size:
        _copy_range(array[last], 0, stop - last * row, out[head + body :])
