"""Sine and cosine, in radians and in half turns, from + - * / and integer operations alone.

The polynomials and the parts of pi are those of FreeBSD's msun (fdlibm, Sun Microsystems, 1993):
`k_sin.c`, `k_cos.c`, `e_rem_pio2.c`, `s_sinpi.c`; the error stays below 1 ULP of float64. Must not
call a mathematical library: its last bits differ from machine to machine.
"""

from typing import TypeAlias

import numpy as np

from tracediff.engine.elementwise import (
    Float64Array,
    FloatArray,
    Int64Array,
    evaluate,
    polynomial,
    round_to_integer,
)

# The largest |x| in radians: up to here a count of quarter turns times a part of pi/2 is exact.
LARGEST_RADIANS = 2.0**20

# pi/2 in three parts of 33 bits, and the rest.
QUARTER_TURN_PARTS = (
    1.57079632673412561417e00,
    6.07710050630396597660e-11,
    2.02226624871116645580e-21,
)
QUARTER_TURN_REST = 8.47842766036889956997e-32
QUARTERS_PER_RADIAN = 6.36619772367581382433e-01

# pi in a part of 25 bits, and the rest.
PI_HIGH = 3.1415926218032837e00
PI_LOW = 3.1786509547056392e-08
HIGH_26_BITS = ~((1 << 27) - 1)

# (sin(x) - x + x^3 / 6) / x^5 on |x| <= pi/4, highest power of x^2 first.
SINE_COEFFICIENTS = (
    1.58969099521155010221e-10,
    -2.50507602534068634195e-08,
    2.75573137070700676789e-06,
    -1.98412698298579493134e-04,
    8.33333333332248946124e-03,
)
SINE_CUBE = -1.66666666666666324348e-01

# (cos(x) - 1 + x^2 / 2) / x^4 on |x| <= pi/4, highest power of x^2 first.
COSINE_COEFFICIENTS = (
    -1.13596475577881948265e-11,
    2.08757232129817482790e-09,
    -2.75573143513906633035e-07,
    2.48015872894767294178e-05,
    -1.38888888888741095749e-03,
    4.16666666666666019037e-02,
)

# An angle as whole quarter turns, the rest, and what the rest's rounding left out.
Reduced: TypeAlias = tuple[Int64Array, Float64Array, Float64Array]


def sin(x: FloatArray) -> FloatArray:
    """Return the sine of x in radians, elementwise.

    float32 or float64, any shape; evaluated in float64 and rounded once to the dtype of `x`.
    sin(+-0) = +-0; sin(+-inf) and sin(NaN) are NaN. A finite |x| above 2^20 is a ValueError.
    Source: FreeBSD msun `k_sin.c`, reduction after Cody and Waite.
    """
    _require_domain(x)

    def formula(block: Float64Array) -> Float64Array:
        return np.where(block == 0.0, block, _rotate(_reduce_radians(block), 0))

    return evaluate(formula, x)


def cos(x: FloatArray) -> FloatArray:
    """Return the cosine of x in radians, elementwise.

    float32 or float64, any shape; evaluated in float64 and rounded once to the dtype of `x`.
    cos(+-0) = 1; cos(+-inf) and cos(NaN) are NaN. A finite |x| above 2^20 is a ValueError.
    Source: FreeBSD msun `k_cos.c`, reduction after Cody and Waite.
    """
    _require_domain(x)
    return evaluate(lambda block: _rotate(_reduce_radians(block), 1), x)


def sinpi(x: FloatArray) -> FloatArray:
    """Return sin(pi x), x in half turns, elementwise, for every finite x.

    float32 or float64, any shape; evaluated in float64 and rounded once to the dtype of `x`.
    sinpi(+-0) = +-0, and +-0 with the sign of x at every integer; NaN for +-inf and NaN.
    Exact reduction; special values as in IEEE 754-2019, 9.2.1.
    """

    def formula(block: Float64Array) -> Float64Array:
        sine = _rotate(_reduce_half_turns(block), 0)
        return np.where(sine == 0.0, 0.0 * block, sine)

    return evaluate(formula, x)


def cospi(x: FloatArray) -> FloatArray:
    """Return cos(pi x), x in half turns, elementwise, for every finite x.

    float32 or float64, any shape; evaluated in float64 and rounded once to the dtype of `x`.
    cospi(+-0) = 1, and +0 halfway between integers; NaN for +-inf and NaN.
    Exact reduction; special values as in IEEE 754-2019, 9.2.1.
    """

    def formula(block: Float64Array) -> Float64Array:
        cosine = _rotate(_reduce_half_turns(block), 1)
        return np.where(cosine == 0.0, 0.0, cosine)

    return evaluate(formula, x)


def _require_domain(x: FloatArray) -> None:
    outside = (np.abs(x) > LARGEST_RADIANS) & (np.abs(x) < np.inf)
    if outside.any():
        message = (
            f"Sine and cosine take angles of at most 2^20 radians in absolute value, "
            f"not {x[outside].flat[0]} (the first of {np.count_nonzero(outside)} outside)."
        )
        raise ValueError(message)


def _reduce_radians(x: Float64Array) -> Reduced:
    """Return (q, high, low) with x = q pi/2 + high + low and |high| <= about pi/4."""
    quarters = round_to_integer(x * QUARTERS_PER_RADIAN)
    high, low = x, np.zeros_like(x)
    for part in QUARTER_TURN_PARTS:
        high, error = _subtract_exactly(high, quarters * part)
        low += error
    low -= quarters * QUARTER_TURN_REST
    total = high + low
    return _whole(quarters, x), total, low - (total - high)


def _subtract_exactly(a: Float64Array, b: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Return (d, e) with d = a - b rounded and d + e = a - b exactly (Knuth's TwoSum)."""
    difference = a - b
    b_seen = a - difference
    a_seen = difference + b_seen
    return difference, (a - a_seen) - (b - b_seen)


def _reduce_half_turns(x: Float64Array) -> Reduced:
    """Return (q, high, low) with pi x = q pi/2 + high + low up to whole turns, |high| <= pi/4."""
    # From 2^53 on every float64 is an even number of half turns; an infinity must stay NaN.
    small = np.where((x < 2.0**53) & (x > -(2.0**53)), x, 0.0 * x)
    turns = _whole(0.5 * small, small)
    rest = small - 2.0 * turns.astype(np.float64)
    quarters = round_to_integer(2.0 * rest)
    rest -= 0.5 * quarters
    # pi times rest in two parts; the product of the high parts is exact.
    rest_high = (rest.view(np.int64) & HIGH_26_BITS).view(np.float64)
    high = rest_high * PI_HIGH
    low = (rest - rest_high) * (PI_HIGH + PI_LOW) + rest_high * PI_LOW
    total = high + low
    return _whole(quarters, x), total, low - (total - high)


def _whole(values: Float64Array, x: Float64Array) -> Int64Array:
    """Return values cut to integers, 0 where x is not finite, for a cast must not see NaN."""
    return np.where((x - x) == 0.0, values, 0.0).astype(np.int64)


def _rotate(reduced: Reduced, ahead: int) -> Float64Array:
    """Return the sine of the reduced angle plus `ahead` quarter turns."""
    quarters, high, low = reduced
    quarters = quarters + ahead
    result = np.where(quarters & 1, _cosine_near_zero(high, low), _sine_near_zero(high, low))
    return np.where(quarters & 2, -result, result)


def _sine_near_zero(x: Float64Array, low: Float64Array) -> Float64Array:
    """Return sin(x + low) for |x| <= pi/4."""
    square = x * x
    cube = square * x
    series = polynomial(SINE_COEFFICIENTS, square)
    return x - ((square * (0.5 * low - cube * series) - low) - cube * SINE_CUBE)


def _cosine_near_zero(x: Float64Array, low: Float64Array) -> Float64Array:
    """Return cos(x + low) for |x| <= pi/4."""
    square = x * x
    series = square * polynomial(COSINE_COEFFICIENTS, square)
    half = 0.5 * square
    rounded = 1.0 - half
    return rounded + (((1.0 - rounded) - half) + (square * series - x * low))
