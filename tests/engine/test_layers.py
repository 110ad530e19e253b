"""The building blocks against their formulas in plain float64, on every numeric path."""

import math

import numpy as np
import pytest

from tracediff.engine.kernels import KERNELS, Array, Kernel
from tracediff.engine.layers import linear, rms_norm, rotary_angles, rotate, silu, softmax

EVERY_KERNEL = [pytest.param(kernel, id=name) for name, kernel in KERNELS.items()]

# A handful of roundings of either type.
TOLERANCE = {np.dtype(np.float32): 2e-6, np.dtype(np.float64): 1e-14}


def draw(*shape: int, seed: int = 11) -> Array:
    return np.random.Generator(np.random.PCG64(seed)).normal(size=shape).astype(np.float32)


def require_close(found: Array, expected: Array, kernel: Kernel) -> None:
    """Require the kernel's type, the shape, and values within a few roundings."""
    assert found.dtype == kernel.dtype
    assert found.shape == expected.shape
    tolerance = TOLERANCE[kernel.dtype]
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kernel", EVERY_KERNEL)
@pytest.mark.parametrize("epsilon", [1e-6, 0.5])
@pytest.mark.parametrize("with_gain", [True, False], ids=["gain", "no-gain"])
def test_rms_norm(kernel: Kernel, epsilon: float, with_gain: bool) -> None:
    """Each vector is divided by the root of its mean square plus epsilon, then scaled."""
    x, gain = draw(2, 3, 8), draw(8, seed=12)
    wide = x.astype(np.float64)
    expected = wide / np.sqrt((wide**2).mean(axis=-1, keepdims=True) + epsilon)
    if with_gain:
        expected = expected * gain.astype(np.float64)
    loaded_gain = kernel.load(gain) if with_gain else None
    require_close(rms_norm(kernel.load(x), loaded_gain, epsilon, kernel), expected, kernel)


@pytest.mark.parametrize("kernel", EVERY_KERNEL)
def test_rms_norm_of_zeros(kernel: Kernel) -> None:
    """Epsilon keeps a zero vector at zero."""
    zeros = np.zeros((1, 8), kernel.dtype)
    np.testing.assert_array_equal(rms_norm(zeros, None, 1e-6, kernel), zeros)


@pytest.mark.parametrize("kernel", EVERY_KERNEL)
@pytest.mark.parametrize("shift", [0.0, 1000.0, -1000.0])
def test_softmax(kernel: Kernel, shift: float) -> None:
    """Exponentials over their sum, whatever is added to all entries."""
    x = np.round(draw(2, 3, 7) * 64) / 64 + np.float32(shift)  # exact after the shift
    wide = x.astype(np.float64) - shift
    expected = np.exp(wide) / np.exp(wide).sum(axis=-1, keepdims=True)
    require_close(softmax(kernel.load(x), kernel), expected, kernel)


@pytest.mark.parametrize("kernel", EVERY_KERNEL)
def test_softmax_of_forbidden_entries(kernel: Kernel) -> None:
    """Entries of -inf get exactly 0 and leave the others as if they were not there."""
    x = kernel.load(np.array([[0.5, -np.inf, -1.5, -np.inf]], np.float32))
    weights = softmax(x, kernel)
    np.testing.assert_array_equal(weights[0, [1, 3]], [0.0, 0.0])
    np.testing.assert_array_equal(weights[0, [0, 2]], softmax(x[:, [0, 2]], kernel)[0])


@pytest.mark.parametrize("kernel", EVERY_KERNEL)
def test_silu(kernel: Kernel) -> None:
    """x times the logistic function of x."""
    x = draw(5, 9) * 4
    expected = x.astype(np.float64) / (1 + np.exp(-x.astype(np.float64)))
    require_close(silu(kernel.load(x), kernel), expected, kernel)


@pytest.mark.parametrize("kernel", EVERY_KERNEL)
def test_silu_far_out(kernel: Kernel) -> None:
    """Far to the left it is 0 and far to the right x itself, without a warning."""
    x = np.array([-2000.0, 0.0, 2000.0], kernel.dtype)
    np.testing.assert_array_equal(silu(x, kernel), [0.0, 0.0, 2000.0])


@pytest.mark.parametrize("kernel", EVERY_KERNEL)
def test_linear(kernel: Kernel) -> None:
    """Rows of the weight are outputs: each is multiplied with every input vector."""
    x, weight = draw(1, 4, 6), draw(3, 6, seed=13)
    expected = np.zeros((1, 4, 3))
    for position, output, i in np.ndindex(4, 3, 6):
        expected[0, position, output] += float(x[0, position, i]) * float(weight[output, i])
    require_close(linear(kernel.load(x), kernel.load(weight), kernel), expected, kernel)


@pytest.mark.parametrize(("head_size", "base"), [(4, 10000.0), (8, 500000.0), (2, 10000.0)])
def test_rotary_angles(head_size: int, base: float) -> None:
    """Angle i of position p is p / base^(2i / head_size), in float64."""
    positions = np.array([0, 1, 7, 4095], np.int64)
    angles = rotary_angles(positions, head_size, base)
    expected = [
        [int(p) / math.pow(base, 2 * i / head_size) for i in range(head_size // 2)]
        for p in positions
    ]
    assert angles.dtype == np.float64
    np.testing.assert_allclose(angles, expected, rtol=1e-14)


@pytest.mark.parametrize("kernel", EVERY_KERNEL)
def test_rotate_turns_complex_numbers(kernel: Kernel) -> None:
    """Element i and element i + half are real and imaginary part of a number that is turned."""
    x = draw(1, 2, 5, 6)
    angles = rotary_angles(np.arange(5), 6, 10000.0)
    wide = x.astype(np.float64)
    turned = (wide[..., :3] + 1j * wide[..., 3:]) * np.exp(1j * angles)
    expected = np.concatenate([turned.real, turned.imag], axis=-1)
    require_close(rotate(kernel.load(x), angles, kernel), expected, kernel)


@pytest.mark.parametrize("kernel", EVERY_KERNEL)
def test_rotated_products_depend_on_distance(kernel: Kernel) -> None:
    """The product of a query and a key depends on how far apart they are, not on where."""
    query, key = kernel.load(draw(1, 1, 1, 4)), kernel.load(draw(1, 1, 1, 4, seed=14))

    def product(query_position: int, key_position: int) -> float:
        turned_query = rotate(query, rotary_angles(np.array([query_position]), 4, 100.0), kernel)
        turned_key = rotate(key, rotary_angles(np.array([key_position]), 4, 100.0), kernel)
        return float((turned_query * turned_key).sum())

    assert product(3, 1) == pytest.approx(product(12, 10), rel=1e-5)
    assert product(3, 1) != pytest.approx(product(3, 2), rel=1e-2)


@pytest.mark.parametrize("kernel", EVERY_KERNEL)
def test_position_zero_is_not_rotated(kernel: Kernel) -> None:
    """At position 0 a vector stays bit for bit what it is."""
    x = kernel.load(draw(1, 2, 1, 4))
    np.testing.assert_array_equal(rotate(x, rotary_angles(np.zeros(1), 4, 10000.0), kernel), x)
