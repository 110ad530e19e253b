"""From a decoder's numbers to pixels.

Knows one mapping. Must not know models or files.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tracediff.engine.kernels import Array

LEVELS = 255


def quantise_pixels(picture: Array) -> npt.NDArray[np.uint8]:
    """Return round(255 min(max(x / 2 + 1/2, 0), 1)) with ties to even, uint8 of the same shape.

    Computed in float64 whatever the type of x. NaN becomes 0, black, as a cast would make it on
    common machines; the numbers themselves still show where it was.
    """
    scaled = (picture.astype(np.float64) / 2.0 + 0.5) * LEVELS
    bounded = np.minimum(np.maximum(scaled, 0.0), float(LEVELS))
    return np.rint(np.where(np.isnan(bounded), 0.0, bounded)).astype(np.uint8)


def to_rows(pixels: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return [1, 3, height, width] as rows of colours, [height, width, 3], contiguous."""
    return np.ascontiguousarray(pixels[0].transpose(1, 2, 0))
