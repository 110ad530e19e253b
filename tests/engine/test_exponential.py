"""Values of exp and log that IEEE 754 fixes, and powers against their definition."""

import math

import mpmath
import numpy as np
import pytest

from tracediff.engine.exponential import exp, log, power

INFINITY = math.inf


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("x", "expected"),
    [
        pytest.param(0.0, 1.0, id="zero"),
        pytest.param(-0.0, 1.0, id="negative-zero"),
        pytest.param(2.0**-149, 1.0, id="subnormal"),
        pytest.param(-(2.0**-149), 1.0, id="negative-subnormal"),
        pytest.param(INFINITY, INFINITY, id="infinity"),
        pytest.param(-INFINITY, 0.0, id="negative-infinity"),
        pytest.param(1e4, INFINITY, id="overflow"),
        pytest.param(-1e4, 0.0, id="underflow"),
        pytest.param(3e38, INFINITY, id="huge"),
        pytest.param(-3e38, 0.0, id="negative-huge"),
        pytest.param(math.nan, math.nan, id="nan"),
    ],
)
def test_exp_of_special_values(dtype: type[np.floating], x: float, expected: float) -> None:
    """Exp gives IEEE libm's value, sign of zero included, in both dtypes."""
    assert_same_value(exp(np.array([x], dtype))[0], expected)


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        # float32: largest finite, first overflow, smallest subnormal, first underflow to 0;
        # the bounds are ln of 2^128 (1 - 2^-25) and of 2^-150.
        pytest.param(88.72283, 3.4027985e38, id="last-finite"),
        pytest.param(88.72284, INFINITY, id="first-infinite"),
        pytest.param(-103.972076, 2.0**-149, id="last-positive"),
        pytest.param(-103.972084, 0.0, id="first-zero"),
    ],
)
def test_exp_bounds_in_float32(x: float, expected: float) -> None:
    """Rounding the float64 value once gives float32 overflow and gradual underflow."""
    assert exp(np.array([x], np.float32))[0] == np.float32(expected)


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        # Bounds of float64 exp as in FreeBSD's e_exp.c: o_threshold and u_threshold.
        pytest.param(7.09782712893383973096e02, 1.797693134862273e308, id="last-finite"),
        pytest.param(7.09782712893384086783e02, INFINITY, id="first-infinite"),
        pytest.param(-7.45133219101941108420e02, 5e-324, id="last-positive"),
        pytest.param(-7.45133219101941222107e02, 0.0, id="first-zero"),
    ],
)
def test_exp_bounds_in_float64(x: float, expected: float) -> None:
    """Exp reaches the last finite and the last positive float64."""
    np.testing.assert_array_max_ulp(exp(np.array([x])), np.array([expected]), maxulp=1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("x", "expected"),
    [
        pytest.param(1.0, 0.0, id="one"),
        pytest.param(0.0, -INFINITY, id="zero"),
        pytest.param(-0.0, -INFINITY, id="negative-zero"),
        pytest.param(INFINITY, INFINITY, id="infinity"),
        pytest.param(-INFINITY, math.nan, id="negative-infinity"),
        pytest.param(-1.0, math.nan, id="negative"),
        pytest.param(-(2.0**-149), math.nan, id="negative-subnormal"),
        pytest.param(math.nan, math.nan, id="nan"),
    ],
)
def test_log_of_special_values(dtype: type[np.floating], x: float, expected: float) -> None:
    """Log gives IEEE libm's value, sign of zero included, in both dtypes."""
    assert_same_value(log(np.array([x], dtype))[0], expected)


@pytest.mark.parametrize("exponent", [-1074, -1023, -1022, -1, 1, 1023])
def test_log_of_powers_of_two(exponent: int) -> None:
    """The logarithm of a power of two, subnormal ones too, is the exponent times ln 2."""
    expected = exponent * 0.6931471805599453
    assert log(np.array([2.0**exponent]))[0] == pytest.approx(expected, rel=3e-16)


@pytest.mark.parametrize("base", [10_000.0, 2.0, 0.75, 1e-300])
def test_power_against_its_definition(base: float) -> None:
    """The relative error stays within a few units of |exponent ln base| 2^-53."""
    exponents = np.linspace(-0.99, 0.99, 67)
    found = power(base, exponents)
    for exponent, value in zip(exponents.tolist(), found.tolist(), strict=True):
        with mpmath.workprec(120):
            expected = mpmath.mpf(base) ** mpmath.mpf(exponent)
            error = abs(value / expected - 1)
            bound = (2 * abs(exponent * mpmath.log(base)) + 1) * mpmath.mpf(2) ** -53
        assert error <= bound


def test_power_of_float32_exponents() -> None:
    """A float32 result is the float64 result rounded once; exponent 0 gives 1."""
    exponents = np.linspace(-3, 3, 61).astype(np.float32)
    expected = power(10_000.0, exponents.astype(np.float64)).astype(np.float32)
    assert power(10_000.0, exponents).tobytes() == expected.tobytes()
    assert power(10_000.0, np.zeros(1))[0] == 1.0


@pytest.mark.parametrize("base", [0.0, -2.0, math.inf, math.nan])
def test_bases_of_a_power(base: float) -> None:
    """A base without a finite logarithm is named and refused."""
    with pytest.raises(ValueError, match=f"positive, finite base, not {base}"):
        power(base, np.ones(1))


def assert_same_value(found: np.floating, expected: float) -> None:
    assert np.float64(found).tobytes() == np.float64(expected).tobytes()
