"""The rounding convention: dtypes, shapes, layouts, NaN bits and no dependence on `np.errstate`."""

from collections.abc import Callable

import numpy as np
import pytest

from tracediff.engine.elementwise import BLOCK_LENGTH, FloatArray, evaluate
from tracediff.engine.exponential import exp, log
from tracediff.engine.trigonometric import cos, cospi, sin, sinpi

Function = Callable[[FloatArray], FloatArray]

FUNCTIONS: list[Function] = [exp, log, sin, cos, sinpi, cospi]
# Arguments that overflow, underflow, divide by zero or are invalid in one function or another.
TROUBLE = [0.0, -0.0, 1e-45, -1e-38, 88.9, -103.9, -1.0, 1e4, -1e4, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_float32_is_float64_rounded_once(function: Function) -> None:
    """A float32 result is the float64 result of the same arguments, rounded."""
    x = np.linspace(-90, 90, 1001).astype(np.float32)
    result = function(x)
    wide = function(x.astype(np.float64))
    assert (result.dtype, wide.dtype) == (np.dtype(np.float32), np.dtype(np.float64))
    with np.errstate(all="ignore"):
        rounded = wide.astype(np.float32)
    assert result.tobytes() == rounded.tobytes()


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    "length", [0, 1, BLOCK_LENGTH - 1, BLOCK_LENGTH, BLOCK_LENGTH + 1, 2 * BLOCK_LENGTH + 3]
)
def test_blocks_leave_no_trace(function: Function, length: int) -> None:
    """An element's result does not depend on the length of the array it stands in."""
    x = np.linspace(0.1, 20, length, dtype=np.float32)
    ends = x[[0, -1]] if length else x
    result = function(x)
    assert result.shape == x.shape
    assert (result[[0, -1]] if length else result).tobytes() == function(ends).tobytes()


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    "arrange",
    [
        pytest.param(np.asfortranarray, id="column-major"),
        pytest.param(lambda x: np.repeat(x, 2, axis=1)[:, ::2], id="strided"),
        pytest.param(lambda x: x[::-1, ::-1].copy()[::-1, ::-1], id="reversed"),
    ],
)
def test_layout_leaves_no_trace(
    function: Function, arrange: Callable[[FloatArray], FloatArray]
) -> None:
    """Equal arrays give equal bits in a C-ordered result, however they lie in memory."""
    x = np.linspace(0.1, 20, 35, dtype=np.float32).reshape(5, 7)
    arranged = arrange(x)
    before = arranged.copy()
    result = function(arranged)
    assert result.flags.c_contiguous
    assert result.tobytes() == function(x).tobytes()
    assert np.array_equal(arranged, before)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_scalar_arrays_keep_their_shape(function: Function) -> None:
    """An array without dimensions gives one without dimensions."""
    result = function(np.array(0.5, np.float32))
    assert isinstance(result, np.ndarray)
    assert result.shape == ()


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_errstate_changes_nothing(function: Function, dtype: type[np.floating]) -> None:
    """No warning, no exception and the same bits under `raise` as under `ignore`."""
    x = np.array(TROUBLE).astype(dtype)
    if function in (sin, cos):
        x = x[np.abs(x) != 1e4]
    with np.errstate(all="raise"):
        strict = function(x)
    with np.errstate(all="ignore"):
        lenient = function(x)
    assert strict.tobytes() == function(x).tobytes() == lenient.tobytes()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_nan_has_one_bit_pattern(function: Function) -> None:
    """A NaN of any sign and payload gives the positive quiet NaN without payload."""
    x = np.array([0x7FC00000, 0xFFC00000, 0x7FC12345, 0xFFD00001], np.uint32).view(np.float32)
    assert function(x).view(np.uint32).tolist() == [0x7FC00000] * 4


@pytest.mark.parametrize("dtype", [np.int64, np.float16, np.complex64, ">f4"])
def test_other_dtypes_are_refused(dtype: type[np.floating]) -> None:
    """A dtype the convention does not cover is a TypeError that names it."""
    with pytest.raises(TypeError, match="all float32 or all float64, not"):
        evaluate(lambda block: block, np.zeros(3, dtype))
