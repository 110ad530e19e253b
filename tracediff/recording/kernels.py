"""The compiled loops that summaries may use: what they take, and whether this machine has them.

Knows their signatures and what they leave where; must not know what they compute it for. Importing
it imports no numba.
"""

from __future__ import annotations

import functools
import warnings
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Float32Array: TypeAlias = npt.NDArray[np.float32]
Float64Array: TypeAlias = npt.NDArray[np.float64]
Int64Array: TypeAlias = npt.NDArray[np.int64]

MINIMUM, MAXIMUM, SUM, SQUARES, SKETCH = range(5)
"""Columns of what is found of a tensor: two numbers, two sums, and from the last one the sketch."""

LOW, HIGH, NEGATIVE_ZEROS, STATE = range(4)
"""Columns of what is counted: extremes as `census.Extremes` has them, how many numbers are -0.0,
and, as one of the states below, what is still to be done."""

DONE, UNPRINTED, UNCERTAIN, NONFINITE = 0, 1, 2, 4
"""What may be missing, to be added up: minimum, maximum or sketch are still to be printed; the last
bit of a sum is not certain; a number is not finite, and nothing is found."""


class AddBlocks(Protocol):
    """Adds blocks of one tensor to its lanes."""

    def __call__(
        self,
        numbers: Float32Array,
        signs: Float32Array,
        placements: Int64Array,
        sums: Float64Array,
        squares: Float64Array,
        lanes: Float64Array,
        padded: Float32Array,
        counted: Int64Array,
        /,
    ) -> int:
        """Do what `RunningSums.add` and, unless `lanes` is empty, `SketchSums.add` do.

        `numbers` are whole blocks, only the tensor's last one shorter. Returns how many blocks were
        added: those before the first one with a number that is not finite. `signs`: a tape's;
        `placements`: [blocks, 5]; `padded`: working memory of a block. LOW, HIGH and NEGATIVE_ZEROS
        of `counted` are brought up to date.
        """


class AddUp(Protocol):
    """Brings the lanes of a tensor to an end."""

    def __call__(
        self,
        sums: Float64Array,
        squares: Float64Array,
        lanes: Float64Array,
        rotations: Int64Array,
        rows: Int64Array,
        room: Float64Array,
        found: Float64Array,
        /,
    ) -> int:
        """Fill in SUM, SQUARES and, unless `lanes` is empty, SKETCH of `found`; return the state.

        Lanes are overwritten: of UNCERTAIN sums, the first 64 hold what is left to add up.
        `rotations` [3] and `rows` [64] are a tape's; `room` has 2048 numbers.
        """


class SummariseRows(Protocol):
    """Summarises tensors of equal size, at most a block."""

    def __call__(
        self,
        tensors: Float32Array,
        sketched: bool,
        signs: Float32Array,
        placements: Int64Array,
        rotations: Int64Array,
        rows: Int64Array,
        space: Float64Array,
        padded: Float32Array,
        found: Float64Array,
        counted: Int64Array,
        /,
    ) -> None:
        """Fill in a row of `found` and of `counted` for each of `tensors` [count, size].

        `space` is working memory for the lanes: a block.
        """


class Kernels(NamedTuple):
    """Compiled loops over contiguous, aligned numbers of native byte order."""

    add_blocks: AddBlocks
    add_up: AddUp
    summarise_rows: SummariseRows


@functools.cache
def load_kernels() -> Kernels | None:
    """Return the compiled loops; None where numba is not installed or does not work.

    Summaries are the same with and without them. The first call takes about a second for numba
    itself and, once on a machine and version, some seconds more to compile; numba keeps the
    result on disk.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numba's advice is for those who write kernels
        try:
            import numba

            if numba.config.DISABLE_JIT:  # then these loops would be Python's own
                return None
            from tracediff.recording import compiled
        except Exception:  # whatever is wrong with that installation: numpy does the same work
            return None
    return Kernels(compiled.add_blocks, compiled.add_up, compiled.summarise_rows)
