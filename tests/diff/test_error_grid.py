"""Errors as levels, and pictures made smaller."""

import numpy as np
import pytest

from tracediff.diff.error_grid import (
    HIGHEST_LEVEL,
    LOWEST_LEVEL,
    NOT_FINITE,
    colour_channels,
    grid_of_errors,
    shrink_picture,
)


@pytest.mark.parametrize(
    ("errors", "levels"),
    [
        pytest.param([[0.0, 0.0]], [0, 0], id="none"),
        pytest.param([[0.0, 2.0]], [0, HIGHEST_LEVEL], id="one"),
        pytest.param([[1e-3, 1.0]], [LOWEST_LEVEL, HIGHEST_LEVEL], id="ends"),
        # Half way between the logarithms of the ends: 1 + 253 / 2 = 127.5, to even.
        pytest.param([[1e-4, 1e-2, 1.0]], [LOWEST_LEVEL, 128, HIGHEST_LEVEL], id="middle"),
        pytest.param([[1e-30, 1.0]], [LOWEST_LEVEL, HIGHEST_LEVEL], id="far-below"),
        pytest.param([[np.inf, 1.0]], [NOT_FINITE, HIGHEST_LEVEL], id="infinite"),
        pytest.param([[np.nan, 0.0]], [NOT_FINITE, 0], id="nan"),
    ],
)
def test_levels(errors: list[list[float]], levels: list[int]) -> None:
    """Levels follow the logarithm, with levels of their own for no error and for no number."""
    assert list(grid_of_errors(np.array(errors)).levels) == levels


@pytest.mark.parametrize("shape", [(1, 1), (3, 200), (200, 3), (65, 64), (129, 257)])
def test_the_largest_error_is_never_lost(shape: tuple[int, int]) -> None:
    """Wherever one element is wrong, some cell shows it, and the grid stays small."""
    for place in (0, shape[0] * shape[1] // 2, shape[0] * shape[1] - 1):
        errors = np.zeros(shape)
        errors.flat[place] = 0.5
        grid = grid_of_errors(errors)
        assert (grid.rows, grid.columns) == (min(64, shape[0]), min(64, shape[1]))
        assert (grid.height, grid.width, grid.high) == (*shape, 0.5)
        assert list(grid.levels).count(HIGHEST_LEVEL) == 1


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        pytest.param((10, 20), (10, 20), id="small"),
        pytest.param((512, 512), (256, 256), id="square"),
        pytest.param((100, 1000), (26, 256), id="wide"),
        pytest.param((1000, 1), (256, 1), id="line"),
    ],
)
def test_shrinking(shape: tuple[int, int], expected: tuple[int, int]) -> None:
    """A picture keeps its form, its mean colour, and is never enlarged."""
    picture = shrink_picture(np.full((*shape, 3), 77, np.uint8))
    assert (picture.height, picture.width) == expected
    assert set(picture.pixels) == {77}
    assert len(picture.pixels) == expected[0] * expected[1] * 3


def test_a_new_pixel_is_the_mean() -> None:
    """Four pixels become one of their mean colour."""
    pixels = np.array([[[0] * 3, [100] * 3], [[50] * 3, [250] * 3]], np.uint8)
    assert list(shrink_picture(pixels, 1).pixels) == [100] * 3


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        pytest.param([0.0, 1.0], [2.0, 0.0], ([0, 128], [255, 0]), id="one-scale"),
        pytest.param([1.0, 1.0], [1.0, 1.0], ([127, 127], [127, 127]), id="constant"),
        pytest.param([np.nan, 0.0], [4.0, np.inf], ([127, 0], [255, 127]), id="not-finite"),
        pytest.param([-1e308, 1e308], [0.0, 0.0], ([0, 255], [128, 128]), id="huge"),
    ],
)
def test_false_colours(
    left: list[float], right: list[float], expected: tuple[list[int], list[int]]
) -> None:
    """The same number has the same colour on both sides."""
    found = colour_channels(np.array([[left]]), np.array([[right]]))
    assert [picture[0, :, 0].tolist() for picture in found] == list(expected)
