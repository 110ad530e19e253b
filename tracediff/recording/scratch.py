"""Working memory that vector instructions reach at full speed.

Knows the size of a cache line; must not know what the memory is for.
"""

from __future__ import annotations

import numpy as np

from tracediff.events.element_types import Float64Array
from tracediff.recording.flat_tensor import BLOCK
from tracediff.recording.kernels import Kernels

_LINE = 64
_SMALL = 4096


def allocate(length: int) -> Float64Array:
    """Return a float64 array [length] of undefined content, a long one on a cache line's start.

    Numpy's own arrays start 16 bytes behind one, so that every second access to them touches two
    lines: measured, a product of two arrays takes twice as long.
    """
    if length < _SMALL:
        return np.empty(length)
    room = np.empty(length + _LINE // 8)
    start = -room.ctypes.data % _LINE // 8
    return room[start : start + length]


class Workspace:
    """Blocks of working memory that one thread keeps for tensor after tensor.

    New memory is mapped page by page when it is touched: measured, that is a third of the time
    that a tensor of 200,000 numbers takes. `lanes` and `passed` hold two blocks each: the sketches
    of a block of tensors, whose lengths are rounded up to powers of two. `kernels` are
    the compiled loops to work with, if any; `singles` and `padded` are theirs.
    """

    def __init__(self, kernels: Kernels | None = None) -> None:
        self.kernels = kernels
        self.numbers = allocate(BLOCK)
        self.scratch = allocate(BLOCK)
        self.lanes = allocate(2 * BLOCK)
        self.passed = allocate(2 * BLOCK)
        self.singles, self.padded = self.scratch.view(np.float32).reshape(2, BLOCK)
