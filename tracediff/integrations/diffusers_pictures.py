"""The pictures that a pipeline takes and returns, as tensors, as pixels and as bytes of a file.

Knows the forms in which diffusers takes and returns a picture. Must not know events.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from blake3 import blake3

from tracediff.engine.png import encode_png
from tracediff.errors import UsageError

Pixels = npt.NDArray[np.uint8]


def is_array(value: Any) -> bool:
    """Whether a value is a tensor, an array, or a picture of PIL."""
    return isinstance(value, torch.Tensor) or hasattr(value, "__array_interface__")


def as_tensor(name: str, picture: Any) -> torch.Tensor:
    """Return a picture, an array or a tensor with the numbers that it has, in its own type.

    Raises UsageError, with its name, for an array of a type that torch lacks.
    """
    if isinstance(picture, torch.Tensor):
        return picture
    # A picture with a palette holds places in it, which mean nothing without it.
    is_indexed = getattr(picture, "mode", None) in ("P", "PA")
    array = np.array(picture.convert("RGBA") if is_indexed else picture, order="C")
    try:
        return torch.from_numpy(array)
    except TypeError:
        raise UsageError(
            f"cannot record {name}: it is an array of {array.dtype}, and a trace holds numbers"
        ) from None


def is_viewable(tensor: torch.Tensor) -> bool:
    """Whether a tensor is one picture of bytes, or of numbers that may be from 0 to 1."""
    is_one = tensor.dim() in (2, 3) or (tensor.dim() == 4 and len(tensor) == 1)
    return is_one and (tensor.dtype is torch.uint8 or tensor.is_floating_point())


def to_pixels(picture: Any) -> Pixels:
    """Return a picture as pixels [1, channels, height, width], to be looked at.

    It is one of PIL, a tensor [.., channels, height, width] or an array [.., height, width,
    channels]. Numbers are taken for 0 to 1 and rounded to 256 levels as diffusers does for PIL:
    what is not in that range is lost, so the numbers themselves are recorded beside it.
    """
    tensor = as_tensor("a picture", picture).detach().cpu()
    held = (tensor.float() if tensor.is_floating_point() else tensor).numpy()
    array = held.reshape(held.shape[-3:])
    if not isinstance(picture, torch.Tensor):
        held = array
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
