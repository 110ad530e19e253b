"""Ordered products and reductions against plain scalar loops, bit for bit."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as numpy_strategies

from tracediff.engine.elementwise import FloatArray
from tracediff.engine.ordered import (
    cumulative,
    matmul,
    max_over,
    mean_over,
    mean_square_over,
    sum_over,
)

Reduction = Callable[..., FloatArray]
DTYPES = [np.float32, np.float64]
CANONICAL_NAN = np.float64("nan")


def draw(shape: tuple[int, ...], dtype: type, seed: int = 7) -> FloatArray:
    """Draw numbers of very different size, whose sum depends on the order of addition."""
    generator = np.random.Generator(np.random.PCG64(seed))
    return (generator.normal(size=shape) * 10.0 ** generator.uniform(-4, 4, shape)).astype(dtype)


def multiply_slowly(a: FloatArray, b: FloatArray) -> FloatArray:
    """Multiply two matrices with three scalar loops, ascending k."""
    result = np.empty((a.shape[0], b.shape[1]), a.dtype)
    with np.errstate(all="ignore"):
        for i, j in np.ndindex(result.shape):
            total = a.dtype.type(0)
            for k in range(a.shape[1]):
                total = total + a[i, k] * b[k, j]
            result[i, j] = CANONICAL_NAN if np.isnan(total) else total
    return result


def sum_slowly(x: FloatArray) -> np.floating:
    total = x.dtype.type(0)
    for value in x:
        total = total + value
    return total


def average_slowly(x: FloatArray) -> np.floating:
    return sum_slowly(x) / x.dtype.type(len(x))


def average_squares_slowly(x: FloatArray) -> np.floating:
    return average_slowly(np.array([value * value for value in x], x.dtype))


REDUCTIONS = [
    pytest.param(sum_over, sum_slowly, id="sum"),
    pytest.param(mean_over, average_slowly, id="mean"),
    pytest.param(mean_square_over, average_squares_slowly, id="mean-square"),
    pytest.param(max_over, np.max, id="max"),
]
LAYOUTS = [
    pytest.param(np.ascontiguousarray, id="row-major"),
    pytest.param(np.asfortranarray, id="column-major"),
    pytest.param(lambda x: np.repeat(x, 3, axis=-1)[..., ::3], id="strided"),
    pytest.param(lambda x: x[..., ::-1].copy()[..., ::-1], id="reversed"),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("m", "k", "n"),
    [
        pytest.param(1, 1, 1, id="one"),
        pytest.param(3, 40, 5, id="wide"),
        pytest.param(7, 40, 2, id="tall"),
        pytest.param(1, 300, 4, id="row"),
        pytest.param(4, 300, 1, id="column"),
        pytest.param(2, 0, 3, id="nothing-to-add"),
        pytest.param(0, 3, 2, id="no-rows"),
    ],
)
def test_matmul_is_the_scalar_loop(dtype: type, m: int, k: int, n: int) -> None:
    """Each output has the bits of a scalar loop over ascending k in the same dtype."""
    a, b = draw((m, k), dtype, 1), draw((k, n), dtype, 2)
    result = matmul(a, b)
    assert (result.dtype, result.shape) == (np.dtype(dtype), (m, n))
    assert result.tobytes() == multiply_slowly(a, b).tobytes()


@given(st.data())
@settings(max_examples=60, deadline=None, derandomize=True, database=None)
def test_matmul_of_any_numbers(data: st.DataObject) -> None:
    """The scalar loop's bits also with zeros, subnormals, infinities and NaN."""
    m, k, n = (data.draw(st.integers(1, 4)) for _ in range(3))
    elements = st.floats(width=32)
    a = data.draw(numpy_strategies.arrays(np.float32, (m, k), elements=elements))
    b = data.draw(numpy_strategies.arrays(np.float32, (k, n), elements=elements))
    assert matmul(a, b).tobytes() == multiply_slowly(a, b).tobytes()


def test_order_matters_in_these_tests() -> None:
    """Descending k gives other bits, so the tests of order can fail."""
    a, b = draw((3, 40), np.float32, 1), draw((40, 5), np.float32, 2)
    assert matmul(a, b).tobytes() != matmul(a[:, ::-1], b[::-1]).tobytes()


@pytest.mark.parametrize("arrange_b", LAYOUTS)
@pytest.mark.parametrize("arrange_a", LAYOUTS)
def test_matmul_ignores_layout(
    arrange_a: Callable[[FloatArray], FloatArray], arrange_b: Callable[[FloatArray], FloatArray]
) -> None:
    """Equal operands give equal bits in a C-ordered result, however they lie in memory."""
    a, b = draw((2, 6, 9), np.float32, 1), draw((2, 9, 5), np.float32, 2)
    result = matmul(arrange_a(a), arrange_b(b))
    assert result.flags.c_contiguous
    assert result.tobytes() == matmul(a, b).tobytes()


@pytest.mark.parametrize(
    ("a_shape", "b_shape", "shape"),
    [
        pytest.param((2, 3, 4, 5), (2, 3, 5, 6), (2, 3, 4, 6), id="equal-batches"),
        pytest.param((2, 3, 4, 5), (5, 6), (2, 3, 4, 6), id="matrix-right"),
        pytest.param((4, 5), (2, 3, 5, 6), (2, 3, 4, 6), id="matrix-left"),
        pytest.param((2, 1, 4, 5), (3, 5, 2), (2, 3, 4, 2), id="both-stretched"),
    ],
)
def test_matmul_broadcasts_batches(
    a_shape: tuple[int, ...], b_shape: tuple[int, ...], shape: tuple[int, ...]
) -> None:
    """A batch has the bits of its matrices multiplied one by one."""
    a, b = draw(a_shape, np.float32, 1), draw(b_shape, np.float32, 2)
    result = matmul(a, b)
    assert result.shape == shape
    every_a = np.broadcast_to(a, (*shape[:-2], *a_shape[-2:]))
    every_b = np.broadcast_to(b, (*shape[:-2], *b_shape[-2:]))
    for batch in np.ndindex(shape[:-2]):
        assert result[batch].tobytes() == matmul(every_a[batch], every_b[batch]).tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("arrange", LAYOUTS)
@pytest.mark.parametrize(("reduce", "reduce_slowly"), REDUCTIONS)
def test_reduction_is_the_scalar_loop(
    reduce: Reduction,
    reduce_slowly: Callable[[FloatArray], np.floating],
    arrange: Callable[[FloatArray], FloatArray],
    axis: int,
    dtype: type,
) -> None:
    """Each output has the bits of a scalar loop by ascending index, in any layout."""
    x = draw((13, 5, 17), dtype)
    expected = np.apply_along_axis(reduce_slowly, axis, x)
    result = reduce(arrange(x), axis)
    assert result.dtype == dtype
    assert result.tobytes() == np.ascontiguousarray(expected).tobytes()
    kept = reduce(arrange(x), axis, keepdims=True)
    assert kept.shape == np.expand_dims(result, axis).shape
    assert kept.tobytes() == result.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("arrange", LAYOUTS)
def test_running_sums_are_sums(arrange: Callable[[FloatArray], FloatArray], dtype: type) -> None:
    """Each running sum has the bits of the sum of what came so far, in any layout."""
    x = draw((3, 4, 17), dtype)
    result = cumulative(arrange(x))
    assert (result.dtype, result.shape) == (x.dtype, x.shape)
    assert result.flags.c_contiguous
    for i in range(17):
        assert result[..., i].tobytes() == sum_over(x[..., : i + 1]).tobytes()


@pytest.mark.parametrize("state", ["ignore", "raise"])
def test_special_running_sums(state: str) -> None:
    """Running sums start from +0, pass through overflow, and end in the one NaN."""
    with np.errstate(all=state):
        result = cumulative(np.array([-0.0, 3e38, 3e38, -np.inf, 1.0], np.float32))
    expected = np.array([0.0, 3e38, np.inf, np.nan, np.nan], np.float32)
    assert result.tobytes() == expected.tobytes()
    assert cumulative(np.zeros((2, 0), np.float32)).shape == (2, 0)


@pytest.mark.parametrize(
    ("reduce", "x", "expected"),
    [
        pytest.param(sum_over, [], 0.0, id="sum-of-nothing"),
        pytest.param(sum_over, [-0.0, -0.0], 0.0, id="sum-starts-from-plus-zero"),
        pytest.param(sum_over, [np.inf, -np.inf], np.nan, id="sum-undefined"),
        pytest.param(sum_over, [3e38, 3e38, -3e38], np.inf, id="sum-overflow"),
        pytest.param(mean_square_over, [3e38], np.inf, id="square-overflow"),
        pytest.param(mean_square_over, [1e-30], 0.0, id="square-underflow"),
        pytest.param(max_over, [1.0, np.nan, 2.0], np.nan, id="max-of-nan"),
        pytest.param(max_over, [-np.nan, 2.0], np.nan, id="max-of-leading-nan"),
        pytest.param(max_over, [-0.0, 0.0], -0.0, id="max-keeps-first-zero"),
        pytest.param(max_over, [-np.inf, -np.inf], -np.inf, id="max-of-infinities"),
    ],
)
@pytest.mark.parametrize("state", ["ignore", "raise"])
def test_special_reductions(reduce: Reduction, x: list[float], expected: float, state: str) -> None:
    """Zeros, infinities and NaN give fixed bits, and `np.errstate` changes nothing."""
    with np.errstate(all=state):
        result = reduce(np.array(x, np.float32))
    assert result.tobytes() == np.float32(expected).tobytes()


@pytest.mark.parametrize("reduce", [mean_over, mean_square_over, max_over])
def test_nothing_to_reduce(reduce: Reduction) -> None:
    """A mean or maximum of nothing is an error, not NaN."""
    with pytest.raises(ValueError, match="over an empty axis is undefined"):
        reduce(np.zeros((3, 0), np.float32))


@pytest.mark.parametrize(
    ("a_shape", "b_shape"),
    [
        pytest.param((2, 3), (4, 5), id="different-k"),
        pytest.param((3,), (3, 5), id="vector-left"),
        pytest.param((2, 3), (3,), id="vector-right"),
    ],
)
def test_matmul_refuses_shapes(a_shape: tuple[int, ...], b_shape: tuple[int, ...]) -> None:
    """Shapes that do not fit are named in the message."""
    with pytest.raises(ValueError, match=r"takes \[\.\.\., m, k\] and"):
        matmul(np.zeros(a_shape, np.float32), np.zeros(b_shape, np.float32))


def test_matmul_refuses_mixed_dtypes() -> None:
    """Nothing is converted silently."""
    with pytest.raises(TypeError, match="not float32, float64"):
        matmul(np.zeros((2, 2), np.float32), np.zeros((2, 2)))
