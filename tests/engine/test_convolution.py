"""Convolution, pooling and upsampling against their definitions, written as loops."""

import numpy as np
import pytest

from tracediff.engine import convolution
from tracediff.engine.convolution import Convolution, average_pool, convolve, upsample_nearest
from tracediff.engine.kernels import find_kernel
from tracediff.engine.philox import PhiloxGenerator

ORDERED = find_kernel("ordered")
SIZES = [
    pytest.param((1, 1, 1, 1), 1, 3, id="one-pixel"),
    pytest.param((2, 3, 5, 4), 2, 3, id="batch-of-two"),
    pytest.param((1, 2, 7, 6), 5, 5, id="size-five"),
    pytest.param((1, 4, 6, 3), 2, 1, id="size-one"),
]


def draw(seed: int, *shape: int) -> np.ndarray:
    return PhiloxGenerator(seed).normals(int(np.prod(shape))).reshape(shape)


def convolve_by_definition(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Loop over everything, each product and sum rounded to the arrays' type, in weight order."""
    batch, inputs, height, width = x.shape
    outputs, _, size, _ = weight.shape
    result = np.zeros((batch, outputs, height, width), x.dtype)
    for place in np.ndindex(result.shape):
        image, output, row, column = place
        total = x.dtype.type(0)
        for i, dy, dx in np.ndindex(inputs, size, size):
            y, z = row + dy - size // 2, column + dx - size // 2
            inside = 0 <= y < height and 0 <= z < width
            total += weight[output, i, dy, dx] * (x[image, i, y, z] if inside else x.dtype.type(0))
        result[place] = total + bias[output]
    return result


@pytest.mark.parametrize(("shape", "outputs", "size"), SIZES)
def test_ordered_convolution_has_the_bits_of_a_loop(
    shape: tuple[int, ...], outputs: int, size: int
) -> None:
    """The ordered path adds in the declared order: the very bits of a scalar loop."""
    x, bias = draw(1, *shape), draw(3, outputs)
    weight = draw(2, outputs, shape[1], size, size)
    found = convolve(x, Convolution(weight, bias), ORDERED)
    assert found.dtype == np.float32
    assert np.array_equal(found, convolve_by_definition(x, weight, bias))


@pytest.mark.parametrize("kernel", ["blas", "float64"])
@pytest.mark.parametrize(("shape", "outputs", "size"), SIZES)
def test_other_paths_agree(shape: tuple[int, ...], outputs: int, size: int, kernel: str) -> None:
    """The other paths give the same up to their rounding."""
    path = find_kernel(kernel)
    x, bias = path.load(draw(1, *shape)), path.load(draw(3, outputs))
    weight = path.load(draw(2, outputs, shape[1], size, size))
    expected = convolve_by_definition(*(a.astype(np.float64) for a in (x, weight, bias)))
    found = convolve(x, Convolution(weight, bias), path)
    assert found.dtype == path.dtype
    np.testing.assert_allclose(found, expected, atol=3e-6 if kernel == "blas" else 1e-13)


@pytest.mark.parametrize("strip", [1, 10, 24, 1000])
def test_strips_do_not_show(strip: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However the picture is cut for speed, the bits are the same."""
    x, weights = draw(1, 1, 3, 9, 8), Convolution(draw(2, 4, 3, 3, 3), draw(3, 4))
    whole = convolve(x, weights, ORDERED)
    monkeypatch.setattr(convolution, "STRIP", strip)
    assert np.array_equal(convolve(x, weights, ORDERED), whole)


@pytest.mark.parametrize("kernel", ["ordered", "blas", "float64"])
def test_average_pool(kernel: str) -> None:
    """Each pixel is the mean of its square."""
    path = find_kernel(kernel)
    x = path.load(draw(4, 2, 3, 8, 12))
    expected = x.astype(np.float64).reshape(2, 3, 2, 4, 3, 4).mean(axis=(3, 5))
    np.testing.assert_allclose(average_pool(x, 4, path), expected, atol=3e-7)


def test_upsample_nearest() -> None:
    """Each pixel becomes a square."""
    x = np.array([[[[1, 2], [3, 4]]]], np.float32)
    expected = [[1, 1, 2, 2], [1, 1, 2, 2], [3, 3, 4, 4], [3, 3, 4, 4]]
    assert np.array_equal(upsample_nearest(x, 2)[0, 0], expected)
