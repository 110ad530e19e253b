"""Two tensors that are pictures, or latents of pictures, small enough to stand in a report.

Knows names and shapes of such tensors, and arrays. Must not know how pictures are drawn.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np

from tracediff.diff.error_grid import (
    LONGEST_EDGE,
    Pixels,
    colour_channels,
    grid_of_errors,
    shrink_picture,
)
from tracediff.diff.panels import PicturePair
from tracediff.events import TensorRecord

Array: TypeAlias = "np.ndarray[Any, Any]"

SMALLEST: Final = 8
"""Pixels of a shorter edge from which a tensor is taken for a picture."""

LATENTS: Final = ("latent", "latent_out")


def pair_pictures(
    record: TensorRecord, left: Array, right: Array, errors: Array
) -> PicturePair | None:
    """Return the pictures of two flat arrays of `record`'s shape, None where it is no picture.

    Pictures are uint8 [.., 3, height, width] or [.., height, width, 3], latents are recognised by
    their name. Of a batch it is the one with the largest error.
    """
    if not (_is_latent(record) or _is_picture(record)):
        return None
    one = record.shape[-3:]
    batches = [array.reshape(-1, *one) for array in (left, right, errors)]
    number = int(np.argmax(batches[2].reshape(len(batches[2]), -1).max(axis=1)))
    mine, other, wrong = (batch[number] for batch in batches)
    pixels: tuple[Pixels, Pixels] = mine, other
    channels = 2 if _has_channels_last(record) else 0
    if _is_latent(record):
        pixels = colour_channels(mine, other)
    elif channels == 0:
        pixels = np.moveaxis(mine, 0, -1), np.moveaxis(other, 0, -1)
    return PicturePair(
        shrink_picture(pixels[0]),
        shrink_picture(pixels[1]),
        grid_of_errors(wrong.max(axis=channels), LONGEST_EDGE),
        number + 1,
        len(batches[0]),
        _is_latent(record),
    )


def _is_latent(record: TensorRecord) -> bool:
    is_real = record.dtype.startswith(("float", "bfloat"))
    is_large = len(record.shape) >= 3 and min(record.shape[-2:]) >= SMALLEST
    return record.name in LATENTS and is_real and is_large


def _is_picture(record: TensorRecord) -> bool:
    if record.dtype != "uint8" or len(record.shape) < 3:
        return False
    last = _has_channels_last(record)
    edges = record.shape[-3:-1] if last else record.shape[-2:]
    return (last or record.shape[-3] == 3) and min(edges) >= SMALLEST


def _has_channels_last(record: TensorRecord) -> bool:
    return record.dtype == "uint8" and record.shape[-1] == 3
