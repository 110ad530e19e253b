"""Errors of many elements as a small grid of levels, and pictures small enough for a report.

Knows arrays. Must not know tensors' names, records or how anything is drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = "np.ndarray[Any, Any]"
Pixels: TypeAlias = npt.NDArray[np.uint8]

MOST_CELLS: Final = 64
"""Rows and columns of a grid, at most; a cell stands for the largest error that it covers."""

DECADES: Final = 6
"""Orders of magnitude below the largest error that have levels of their own."""

LOWEST_LEVEL: Final = 1
HIGHEST_LEVEL: Final = 254
NOT_FINITE: Final = 255
"""Levels of a cell: 0 is no error at all, 255 an error that is no finite number."""

LONGEST_EDGE: Final = 256
"""Pixels of a picture's longer edge, at most."""


@dataclass(frozen=True, slots=True)
class ErrorGrid:
    """The largest error of each block of a matrix, as levels from 0 to 255 in C order.

    Level 1 is an error of `low` or less, level 254 one of `high`, with equal ratios between;
    `height` and `width` are the extents of the matrix that the grid covers.
    """

    rows: int
    columns: int
    levels: bytes
    low: float
    high: float
    height: int
    width: int


@dataclass(frozen=True, slots=True)
class Picture:
    """Pixels in red, green and blue, row by row from the top: `height` * `width` * 3 bytes."""

    height: int
    width: int
    pixels: bytes


def grid_of_errors(errors: Array, most: int = MOST_CELLS) -> ErrorGrid:
    """Return the grid of a matrix of absolute errors, float64 [height, width], at most `most` wide.

    What is not finite is an error too, the worst one.
    """
    height, width = errors.shape
    finite = np.where(np.isfinite(errors), errors, np.inf)
    blocks = _largest_of_blocks(_largest_of_blocks(finite, most, 0), most, 1)
    known = blocks[np.isfinite(blocks) & (blocks > 0)]
    high = float(known.max(initial=0.0))
    low = max(float(known.min(initial=math.inf)), high / 10**DECADES) if known.size else 0.0
    levels = _levels(blocks, low, high)
    rows, columns = blocks.shape
    return ErrorGrid(rows, columns, levels.tobytes(), low, high, height, width)


def shrink_picture(pixels: Pixels, edge: int = LONGEST_EDGE) -> Picture:
    """Return a picture, uint8 [height, width, 3], with edges of at most `edge` pixels.

    A new pixel is the mean of those that it covers; nothing is enlarged.
    """
    height, width, _ = pixels.shape
    scale = min(1.0, edge / max(height, width))
    rows, columns = max(1, round(height * scale)), max(1, round(width * scale))
    small = _mean_of_blocks(_mean_of_blocks(pixels.astype(np.float64), rows, 0), columns, 1)
    return Picture(rows, columns, np.rint(small).astype(np.uint8).tobytes())


def colour_channels(left: Array, right: Array) -> tuple[Pixels, Pixels]:
    """Return false-colour pictures of two latents, the same number with the same colour in both.

    float [channels, height, width]; the first three channels become red, green and blue, missing
    ones repeat the last. What is not finite is grey.
    """
    pictures = [np.empty((*side.shape[1:], 3), np.uint8) for side in (left, right)]
    for colour in range(3):
        channels = [side[min(colour, len(side) - 1)] for side in (left, right)]
        numbers = np.concatenate([channel[np.isfinite(channel)] for channel in channels])
        low, high = (float(numbers.min()), float(numbers.max())) if numbers.size else (0.0, 0.0)
        for picture, channel in zip(pictures, channels, strict=True):
            picture[:, :, colour] = _spread(channel, low, high)
    return pictures[0], pictures[1]


def _spread(channel: Array, low: float, high: float) -> Pixels:
    finite = np.isfinite(channel)
    if high <= low:
        return np.full(channel.shape, 127, np.uint8)
    # Halves first: the span of two finite numbers may be too large for a float64.
    share = (np.where(finite, channel, low) / 2 - low / 2) / (high / 2 - low / 2)
    return np.where(finite, np.rint(share * 255), 127).astype(np.uint8)


def _levels(blocks: Array, low: float, high: float) -> Pixels:
    levels = np.zeros(blocks.shape, np.uint8)
    levels[~np.isfinite(blocks)] = NOT_FINITE
    some = np.isfinite(blocks) & (blocks > 0)
    if not some.any():
        return levels
    span = math.log(high) - math.log(low)
    share = (np.log(np.maximum(blocks[some], low)) - math.log(low)) / span if span else 1.0
    levels[some] = np.rint(LOWEST_LEVEL + share * (HIGHEST_LEVEL - LOWEST_LEVEL))
    return levels


def _largest_of_blocks(matrix: Array, most: int, axis: int) -> Array:
    length = matrix.shape[axis]
    if length <= most:
        return matrix
    starts = np.arange(most) * length // most
    largest: Array = np.maximum.reduceat(matrix, starts, axis=axis)
    return largest


def _mean_of_blocks(matrix: Array, count: int, axis: int) -> Array:
    length = matrix.shape[axis]
    starts = np.arange(count) * length // count
    sums = np.add.reduceat(matrix, starts, axis=axis)
    sizes = np.diff(np.append(starts, length))
    shape = [-1 if a == axis else 1 for a in range(matrix.ndim)]
    means: Array = sums / sizes.reshape(shape)
    return means
