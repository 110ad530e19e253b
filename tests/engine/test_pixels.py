"""Quantisation to pixels."""

import numpy as np
import pytest

from tracediff.engine.pixels import quantise_pixels, to_rows


@pytest.mark.parametrize(
    ("number", "pixel"),
    [
        pytest.param(-1.0, 0, id="black"),
        pytest.param(1.0, 255, id="white"),
        pytest.param(-7.0, 0, id="below"),
        pytest.param(3e38, 255, id="above"),
        pytest.param(np.inf, 255, id="inf"),
        pytest.param(-np.inf, 0, id="minus-inf"),
        pytest.param(np.nan, 0, id="nan"),
        pytest.param(0.0, 128, id="tie-127.5-to-even"),
        pytest.param(0.25, 159, id="159.375"),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_quantise(number: float, pixel: int, dtype: type) -> None:
    """-1 … 1 becomes 0 … 255, everything else is clipped, NaN is black."""
    found = quantise_pixels(np.array([number], dtype))
    assert found.dtype == np.uint8
    assert found[0] == pixel


def test_rows() -> None:
    """[1, 3, height, width] becomes [height, width, 3]."""
    pixels = np.arange(24, dtype=np.uint8).reshape(1, 3, 2, 4)
    rows = to_rows(pixels)
    assert rows.shape == (2, 4, 3)
    assert rows[1, 2].tolist() == [6, 14, 22]
    assert rows.flags.c_contiguous
