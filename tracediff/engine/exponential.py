"""Exponential and natural logarithm from + - * / and integer operations alone.

The method and the coefficients are those of FreeBSD's msun (fdlibm, Sun Microsystems, 1993):
`e_exp.c` and `e_log.c`, each with an error below 1 ULP of float64. Must not call a mathematical
library: its last bits differ from machine to machine.
"""

import numpy as np

from tracediff.engine.elementwise import (
    Float64Array,
    FloatArray,
    Int64Array,
    evaluate,
    polynomial,
    round_to_integer,
)

# ln 2 in two parts: the first has 32 trailing zero bits, so an exponent times it is exact.
LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10
INVERSE_LN2 = 1.44269504088896338700e00

# (r (e^r + 1) / (e^r - 1) - 2) / r^2 on |r| <= ln(2) / 2, highest power of r^2 first.
EXP_COEFFICIENTS = (
    4.13813679705723846039e-08,
    -1.65339022054652515390e-06,
    6.61375632143793436117e-05,
    -2.77777777770155933842e-03,
    1.66666666666666019037e-01,
)

# ((log(1 + s) - log(1 - s)) / s - 2) / s^2 on 0 <= s <= 0.1716, highest power of s^2 first.
LOG_COEFFICIENTS = (
    1.479819860511658591e-01,
    1.531383769920937332e-01,
    1.818357216161805012e-01,
    2.222219843214978396e-01,
    2.857142874366239149e-01,
    3.999999999940941908e-01,
    6.666666666666735130e-01,
)

MANTISSA_BITS = 52
EXPONENT_BIAS = 1023
MANTISSA_MASK = (1 << MANTISSA_BITS) - 1
ONE_BITS = 0x3FF00000 << 32
HALF_SQRT2_BITS = 0x3FE6A09E << 32


def exp(x: FloatArray) -> FloatArray:
    """Return e to the power x, elementwise.

    float32 or float64, any shape; evaluated in float64 and rounded once to the dtype of `x`.
    exp(+-0) = 1, exp(inf) = inf, exp(-inf) = 0, exp(NaN) = NaN; overflow gives inf, underflow
    goes through the subnormal numbers to 0. Source: FreeBSD msun `e_exp.c`.
    """
    return evaluate(_exp, x)


def log(x: FloatArray) -> FloatArray:
    """Return the natural logarithm of x, elementwise.

    float32 or float64, any shape; evaluated in float64 and rounded once to the dtype of `x`.
    log(1) = 0, log(+-0) = -inf, log(inf) = inf; a negative number and NaN give NaN; subnormal
    numbers are exact inputs like any other. Source: FreeBSD msun `e_log.c`.
    """
    return evaluate(_log, x)


def power(base: float, exponent: FloatArray) -> FloatArray:
    """Return base to the power exponent as e^(exponent ln base), elementwise in the exponent.

    float32 or float64 exponents, any shape; evaluated in float64 and rounded once to their dtype.
    The relative error is about |exponent ln base| 2^-53. A base that is not positive and finite
    is a ValueError.
    """
    if not 0.0 < base < np.inf:
        message = f"A power takes a positive, finite base, not {base}."
        raise ValueError(message)
    logarithm = log(np.array(base, np.float64))
    return evaluate(lambda block: _exp(block * logarithm), exponent)


def _exp(x: Float64Array) -> Float64Array:
    # Outside these bounds the result is 0 or inf, and scaling gives just that at the bounds.
    bounded = np.where(x > -746.0, x, -746.0)  # also turns NaN into a number
    bounded = np.where(bounded < 710.0, bounded, 710.0)
    exponent = round_to_integer(bounded * INVERSE_LN2)
    high = bounded - exponent * LN2_HIGH
    low = exponent * LN2_LOW
    power = _exp_reduced(high, low)
    # In two halves, as 2^-1076 is no float64; only the second product can round.
    whole = exponent.astype(np.int64)
    half = whole >> 1
    power *= _power_of_two(half)
    power *= _power_of_two(whole - half)
    return np.where(np.isnan(x), np.nan, power)


def _exp_reduced(high: Float64Array, low: Float64Array) -> Float64Array:
    """Return e^(high - low) for |high - low| <= ln(2) / 2."""
    reduced = high - low
    square = reduced * reduced
    correction = reduced - square * polynomial(EXP_COEFFICIENTS, square)
    quotient = reduced * correction
    quotient /= 2.0 - correction
    return 1.0 - ((low - quotient) - high)


def _log(x: Float64Array) -> Float64Array:
    ordinary = (x > 0.0) & (x < np.inf)
    positive = np.where(ordinary, x, 1.0)
    subnormal = positive < 2.0**-1022
    positive = np.where(subnormal, positive * 2.0**54, positive)
    exponent, fraction = _split(positive)
    exponent -= np.where(subnormal, 54.0, 0.0)
    result = _log_near_one(fraction, exponent)
    special = np.where(x == 0.0, -np.inf, np.where(x > 0.0, np.inf, np.nan))
    return np.where(ordinary, result, special)


def _split(x: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Return (k, f) with x = 2^k (1 + f) and 1 + f between sqrt(1/2) and sqrt(2)."""
    bits = x.view(np.int64) + (ONE_BITS - HALF_SQRT2_BITS)
    exponent = (bits >> MANTISSA_BITS) - EXPONENT_BIAS
    bits &= MANTISSA_MASK
    bits += HALF_SQRT2_BITS
    return exponent.astype(np.float64), bits.view(np.float64) - 1.0


def _log_near_one(fraction: Float64Array, exponent: Float64Array) -> Float64Array:
    """Return log(2^exponent (1 + fraction))."""
    ratio = fraction / (2.0 + fraction)
    square = ratio * ratio
    series = square * polynomial(LOG_COEFFICIENTS, square)
    half_square = 0.5 * fraction * fraction
    tail = ratio * (half_square + series) + exponent * LN2_LOW
    return exponent * LN2_HIGH - ((half_square - tail) - fraction)


def _power_of_two(exponent: Int64Array) -> Float64Array:
    """Return 2^exponent, built from its bits, for exponents of normal numbers."""
    return ((exponent + EXPONENT_BIAS) << MANTISSA_BITS).view(np.float64)
