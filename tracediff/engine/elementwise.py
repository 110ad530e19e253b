"""Apply a float64 formula to every element, and round once: the engine's rounding convention.

Knows dtypes, NaN, how a long array is cut into blocks, and the two steps that formulas share;
must not know any particular function.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.floating[Any]]
Float64Array: TypeAlias = npt.NDArray[np.float64]
Int64Array: TypeAlias = npt.NDArray[np.int64]
Formula: TypeAlias = Callable[[Float64Array], Float64Array]

# A formula holds about ten temporaries; of this length they stay in a second-level cache.
BLOCK_LENGTH = 8192

# Adding and subtracting 1.5 * 2^52 rounds a float64 below 2^51 to the nearest integer.
ROUNDER = 6755399441055744.0


def evaluate(formula: Formula, x: FloatArray) -> FloatArray:
    """Evaluate a formula in float64 on every element and round once to the dtype of `x`.

    `x` is float32 or float64 of any shape and layout; the result is a new C-ordered array of the
    same shape and dtype. The formula gets one-dimensional float64 copies that it may overwrite.
    Every NaN in the result is the same positive quiet NaN, and no floating-point warning is
    raised, whatever `np.errstate` the caller has set. Any other dtype is a TypeError.
    """
    require_float(x)
    flat = x.reshape(-1)
    result = np.empty(flat.shape, x.dtype)
    with np.errstate(all="ignore"):
        for start in range(0, flat.size, BLOCK_LENGTH):
            block = slice(start, start + BLOCK_LENGTH)
            result[block] = formula(flat[block].astype(np.float64))
        unify_nan(result)
    return result.reshape(x.shape)


def require_float(*arrays: FloatArray) -> None:
    """Raise a TypeError unless all arrays are float32, or all are float64."""
    found = [array.dtype for array in arrays]
    if found[0] not in (np.float32, np.float64) or any(dtype != found[0] for dtype in found):
        names = ", ".join(str(dtype) for dtype in found)
        message = f"The engine computes on arrays that are all float32 or all float64, not {names}."
        raise TypeError(message)


def unify_nan(array: FloatArray) -> None:
    """Overwrite every NaN of `array` in place with the one positive quiet NaN.

    The sign and payload of a NaN that arithmetic makes differ between processors.
    """
    np.copyto(array, np.nan, where=np.isnan(array))


def round_to_integer(x: Float64Array) -> Float64Array:
    """Return each |x| < 2^51 rounded to the nearest integer, ties to even, still float64."""
    rounded = x + ROUNDER
    rounded -= ROUNDER
    return rounded


def polynomial(coefficients: tuple[float, ...], x: Float64Array) -> Float64Array:
    """Return the polynomial at x by Horner's rule; the highest power's coefficient comes first."""
    total = x * coefficients[0]
    for coefficient in coefficients[1:-1]:
        total += coefficient
        total *= x
    total += coefficients[-1]
    return total
