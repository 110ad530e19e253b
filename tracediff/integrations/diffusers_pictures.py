"""The pictures that a pipeline returns, as pixels and as the bytes of a file.

Knows the forms in which diffusers returns a picture. Must not know events.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from blake3 import blake3

from tracediff.engine.png import encode_png

Pixels = npt.NDArray[np.uint8]


def to_pixels(picture: Any) -> Pixels:
    """Return a picture as pixels [1, channels, height, width].

    It is one of PIL, a tensor [channels, height, width] or an array [height, width, channels] of
    numbers from 0 to 1, which are rounded to 256 levels as diffusers does for PIL.
    """
    if isinstance(picture, torch.Tensor):
        array = picture.detach().cpu().float().numpy()
    else:
        held = np.asarray(picture)
        array = np.moveaxis(held.reshape(*held.shape[:2], -1), -1, 0)
    if array.dtype != np.uint8:
        array = np.rint(np.clip(np.nan_to_num(array), 0.0, 1.0) * 255.0).astype(np.uint8)
    return np.ascontiguousarray(array[np.newaxis])


def describe_file(pixels: Pixels) -> dict[str, Any]:
    """Return digest and length of the PNG file that holds the pixels uncompressed.

    It is not the file that a user may save: its bytes depend on the pixels alone, not on the
    version of a library. Empty for pictures that are not of three colours.
    """
    if pixels.shape[1] != 3:
        return {}
    file = encode_png(np.ascontiguousarray(pixels[0].transpose(1, 2, 0)))
    return {"png_digest": f"b3:{blake3(file).hexdigest()[:32]}", "png_length": len(file)}
