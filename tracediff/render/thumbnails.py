"""The first divergent tensor as small pictures: left, right and where they differ, or a heat map.

Reads a finished panel. Must not know where values are stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.text import Text

from tracediff.diff.panels import PicturePair, TensorPanel
from tracediff.render.escape import visible
from tracediff.render.half_blocks import Pixels, draw_pixels

if TYPE_CHECKING:
    from tracediff.diff.error_grid import ErrorGrid, Picture

GAP = 2
WIDEST = 32
HIGHEST = 24
"""Rows of pixels of a heat map, two in a line of text."""

FEWEST_CELLS = 4
"""Rows and columns below which a heat map shows nothing that the numbers do not say."""

NOT_FINITE = 255
COLD, WARM, HOT = (24, 24, 40), (200, 60, 20), (255, 240, 120)
BROKEN = (255, 0, 255)
"""Colour of errors that are no numbers."""


def print_thumbnails(panel: TensorPanel, console: Console) -> None:
    """Print the pictures of a tensor that is one, else a heat map of its errors if it is large."""
    if panel.pictures is not None:
        _print_pictures(panel.name, panel.pictures, console)
    elif panel.grid is not None and min(panel.grid.rows, panel.grid.columns) >= FEWEST_CELLS:
        _print_heat_map(panel.name, panel.grid, console)


def _print_pictures(name: str, pictures: PicturePair, console: Console) -> None:
    columns = min(WIDEST, max(8, (console.width - 2 * GAP) // 3))
    coloured = console.color_system is not None
    drawn = [
        draw_pixels(pixels, columns, coloured=coloured)
        for pixels in (
            _pixels(pictures.left),
            _pixels(pictures.right),
            _heat(pictures.difference),
        )
    ]
    which = f" {pictures.number} of {pictures.count}" if pictures.count > 1 else ""
    what = "in false colours" if pictures.is_latent else ""
    console.print()
    console.print(Text(f"{visible(name)}{which} {what}".rstrip(), "bold"), soft_wrap=True)
    widths = [lines[0].cell_len for lines in drawn]
    titles = zip(("left", "right", "difference"), widths, strict=True)
    head = "".join(title.ljust(width + GAP) for title, width in titles)
    console.print(Text(head.rstrip(), "dim"), soft_wrap=True)
    for lines in zip(*drawn, strict=True):
        console.print(Text(" " * GAP).join(lines), soft_wrap=True)


def _print_heat_map(name: str, grid: ErrorGrid, console: Console) -> None:
    console.print()
    title = f"errors of {visible(name)}, {grid.height} x {grid.width}"
    console.print(Text(title, "bold"), soft_wrap=True)
    coloured = console.color_system is not None
    columns = min(
        console.width, grid.columns, max(FEWEST_CELLS, HIGHEST * grid.columns // grid.rows)
    )
    for line in draw_pixels(_heat(grid), columns, coloured=coloured):
        console.print(line, soft_wrap=True)
    scale = f"dark: none; bright: {grid.high:.3g}"
    console.print(Text(scale, "dim"), soft_wrap=True)


def _pixels(picture: Picture) -> Pixels:
    shape = picture.height, picture.width, 3
    return np.frombuffer(picture.pixels, np.uint8).reshape(shape)


def _heat(grid: ErrorGrid) -> Pixels:
    """Return levels 0 to 254 as colours from cold over warm to hot, and 255 as broken."""
    levels = np.frombuffer(grid.levels, np.uint8).reshape(grid.rows, grid.columns)
    share = (levels / (NOT_FINITE - 1))[:, :, np.newaxis]
    low, middle, high = (np.array(colour, np.float64) for colour in (COLD, WARM, HOT))
    lower = low + (middle - low) * np.minimum(share * 2, 1)
    heat = np.where(share <= 1 / 2, lower, middle + (high - middle) * (share * 2 - 1))
    heat[levels == NOT_FINITE] = BROKEN
    return np.rint(heat).astype(np.uint8)
