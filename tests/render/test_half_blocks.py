"""Small pictures in a terminal."""

import io

import numpy as np
import pytest
from rich.console import Console

from tracediff.render.half_blocks import colour_latent, draw_pixels

RED, GREEN, BLUE, WHITE = [255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255]
FOUR = np.array([[RED, GREEN], [BLUE, WHITE]], np.uint8)


def test_two_pixels_a_character() -> None:
    """The upper pixel is the block's colour, the lower one its background."""
    (line,) = draw_pixels(FOUR, 10)
    assert line.plain == "▀▀"
    console = Console(file=io.StringIO(), color_system="truecolor", force_terminal=True, width=20)
    console.print(line)
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    assert "\x1b[38;2;255;0;0;48;2;0;0;255m▀" in printed
    assert "\x1b[38;2;0;255;0;48;2;255;255;255m▀" in printed


def test_without_colour_there_are_shades() -> None:
    """Without colour a character shows how light its two pixels are."""
    dark_to_light = np.zeros((2, 3, 3), np.uint8)
    dark_to_light[:, 1], dark_to_light[:, 2] = 100, 255
    (line,) = draw_pixels(dark_to_light, 10, coloured=False)
    assert line.plain == " =@"
    assert line.spans == []


@pytest.mark.parametrize(
    ("height", "width", "columns", "lines", "characters"),
    [
        pytest.param(512, 512, 64, 32, 64, id="shrunk"),
        pytest.param(64, 64, 64, 32, 64, id="as-it-is"),
        pytest.param(64, 64, 200, 32, 64, id="never-enlarged"),
        pytest.param(100, 300, 30, 5, 30, id="wide"),
        pytest.param(7, 5, 3, 2, 3, id="odd"),
        pytest.param(1, 1, 1, 1, 1, id="one-pixel"),
        pytest.param(1, 1000, 10, 1, 10, id="flat"),
    ],
)
def test_size(height: int, width: int, columns: int, lines: int, characters: int) -> None:
    """At most so many columns, and as many lines as keep the picture's proportions."""
    drawn = draw_pixels(np.zeros((height, width, 3), np.uint8), columns)
    assert len(drawn) == lines
    assert {len(line) for line in drawn} == {characters}


def test_shrinking_averages() -> None:
    """A checkerboard of black and white becomes grey."""
    board = np.zeros((8, 8, 3), np.uint8)
    board[::2, ::2] = board[1::2, 1::2] = 255
    for line in draw_pixels(board, 4):
        assert {str(span.style) for span in line.spans} == {"#808080 on #808080"}


@pytest.mark.parametrize(
    ("pixels", "columns"),
    [
        pytest.param(np.zeros((2, 2), np.uint8), 10, id="grey"),
        pytest.param(np.zeros((0, 2, 3), np.uint8), 10, id="empty"),
        pytest.param(FOUR, 0, id="no-columns"),
    ],
)
def test_other_shapes_are_refused(pixels: np.ndarray, columns: int) -> None:
    """What is no picture is refused."""
    with pytest.raises(ValueError, match="a picture"):
        draw_pixels(pixels, columns)


def test_latents_are_spread_over_all_colours() -> None:
    """Each of the first three channels spans 0 to 255 on its own; others are not shown."""
    latent = np.array([[[-2.0, 2.0]], [[0.0, 1e-3]], [[5.0, 4.0]], [[9.0, -9.0]]], np.float32)
    assert colour_latent(latent).tolist() == [[[0, 0, 255], [255, 255, 0]]]


@pytest.mark.parametrize(
    ("latent", "expected"),
    [
        pytest.param([[[3.0, 3.0]]], [[[127] * 3, [127] * 3]], id="constant"),
        pytest.param([[[np.nan, np.nan]]], [[[127] * 3, [127] * 3]], id="all-nan"),
        pytest.param([[[0.0, np.inf, 1.0]]], [[[0] * 3, [127] * 3, [255] * 3]], id="infinity"),
        pytest.param([[[-1.7e308, 1.7e308]]], [[[0] * 3, [255] * 3]], id="huge"),
    ],
)
def test_strange_latents(latent: list[list[list[float]]], expected: list[list[list[int]]]) -> None:
    """Constants and what is not finite are in the middle; one channel serves for all three."""
    assert colour_latent(np.array(latent)).tolist() == expected


def test_latents_have_channels() -> None:
    """A latent without channels is none."""
    with pytest.raises(ValueError, match="a latent"):
        colour_latent(np.zeros((0, 4, 4)))
