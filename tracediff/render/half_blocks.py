"""Small pictures in a terminal: two pixels a character, the upper and the lower half block.

Knows arrays of pixels and rich text. Must not know traces or where arrays come from.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from rich.style import Style
from rich.text import Text

Pixels = npt.NDArray[np.uint8]

UPPER_HALF = "▀"
SHADES = " .:-=+*#%@"
"""From dark to light, for terminals without colour."""

MIDDLE = 127


def draw_pixels(pixels: Pixels, columns: int, *, coloured: bool = True) -> list[Text]:
    """Return a picture as lines of at most `columns` characters, each two pixels high.

    pixels uint8 [height, width, 3]; shrunk by averaging where it is wider, never enlarged. Without
    colour each character is a shade instead. Raises ValueError for another shape or no columns.
    """
    if pixels.ndim != 3 or pixels.shape[2] != 3 or 0 in pixels.shape:
        raise ValueError(f"a picture has shape [height, width, 3], not {list(pixels.shape)}")
    if columns < 1:
        raise ValueError(f"a picture is drawn in 1 or more columns, not {columns}")
    height, width, _ = pixels.shape
    shown = min(columns, width)
    rows = max(1, round(height * shown / width))
    small = _shrink(pixels, rows + rows % 2, shown)
    draw = _coloured_line if coloured else _shaded_line
    return [draw(small[row], small[row + 1]) for row in range(0, len(small), 2)]


def colour_latent(latent: npt.NDArray[Any]) -> Pixels:
    """Return a false-colour picture of a latent: its first three channels as red, green, blue.

    latent [channels, height, width] of any real type, at least one channel; missing ones repeat
    the last. Each channel is scaled so that its finite numbers span 0 to 255; a constant channel
    and numbers that are not finite become 127. Result uint8 [height, width, 3].
    """
    if latent.ndim != 3 or latent.shape[0] == 0:
        raise ValueError(f"a latent has shape [channels, height, width], not {list(latent.shape)}")
    channels = [_spread(latent[min(index, len(latent) - 1)]) for index in range(3)]
    return np.stack(channels, axis=-1)


def _spread(channel: npt.NDArray[Any]) -> Pixels:
    numbers = channel.astype(np.float64)
    finite = np.isfinite(numbers)
    if not finite.any():
        return np.full(numbers.shape, MIDDLE, np.uint8)
    low, high = numbers[finite].min(), numbers[finite].max()
    if low == high:
        return np.full(numbers.shape, MIDDLE, np.uint8)
    # Halves first: the span of two finite numbers may be too large for a float64.
    scaled = (np.where(finite, numbers, low) / 2 - low / 2) / (high / 2 - low / 2)
    return np.where(finite, np.rint(scaled * 255), MIDDLE).astype(np.uint8)


def _shrink(pixels: Pixels, rows: int, columns: int) -> Pixels:
    """Return the picture with each new pixel the mean of those that it covers most of."""
    narrow = _average(pixels.astype(np.float64), columns, axis=1)
    return np.rint(_average(narrow, rows, axis=0)).astype(np.uint8)


def _average(array: npt.NDArray[np.float64], count: int, axis: int) -> npt.NDArray[np.float64]:
    length = array.shape[axis]
    starts = np.arange(count) * length // count
    ends = np.maximum((np.arange(count) + 1) * length // count, starts + 1)
    pieces = [
        array.take(range(start, end), axis=axis).mean(axis=axis)
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
    return np.stack(pieces, axis=axis)


def _coloured_line(upper: Pixels, lower: Pixels) -> Text:
    line = Text()
    for above, below in zip(upper.tolist(), lower.tolist(), strict=True):
        line.append(UPPER_HALF, Style(color=_hex(above), bgcolor=_hex(below)))
    return line


def _shaded_line(upper: Pixels, lower: Pixels) -> Text:
    lightness = (upper.astype(np.float64).mean(axis=1) + lower.mean(axis=1)) / 2
    steps = np.rint(lightness / 255 * (len(SHADES) - 1)).astype(int)
    return Text("".join(SHADES[step] for step in steps.tolist()))


def _hex(colour: list[int]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)
