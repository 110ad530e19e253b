"""Values of sine and cosine that are exact or fixed by IEEE 754, and the domain in radians."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from tracediff.engine.elementwise import FloatArray
from tracediff.engine.trigonometric import LARGEST_RADIANS, cos, cospi, sin, sinpi

NAN = math.nan
TINY = 2.0**-149

# argument in half turns, sinpi, cospi: IEEE 754-2019, 9.2.1 and exact values
HALF_TURNS = [
    pytest.param(0.0, 0.0, 1.0, id="zero"),
    pytest.param(-0.0, -0.0, 1.0, id="negative-zero"),
    pytest.param(0.5, 1.0, 0.0, id="quarter-turn"),
    pytest.param(-0.5, -1.0, 0.0, id="negative-quarter-turn"),
    pytest.param(1.0, 0.0, -1.0, id="half-turn"),
    pytest.param(-1.0, -0.0, -1.0, id="negative-half-turn"),
    pytest.param(1.5, -1.0, 0.0, id="three-quarters"),
    pytest.param(2.0, 0.0, 1.0, id="turn"),
    pytest.param(-3.0, -0.0, -1.0, id="odd-integer"),
    pytest.param(2.0**23 - 0.5, -1.0, 0.0, id="last-float32-half"),
    pytest.param(2.0**24 - 1, 0.0, -1.0, id="last-odd-float32"),
    pytest.param(3e38, 0.0, 1.0, id="huge"),
    pytest.param(-3e38, -0.0, 1.0, id="negative-huge"),
    pytest.param(math.inf, NAN, NAN, id="infinity"),
    pytest.param(-math.inf, NAN, NAN, id="negative-infinity"),
    pytest.param(NAN, NAN, NAN, id="nan"),
]

RADIANS = [
    pytest.param(0.0, 0.0, 1.0, id="zero"),
    pytest.param(-0.0, -0.0, 1.0, id="negative-zero"),
    pytest.param(TINY, TINY, 1.0, id="subnormal"),
    pytest.param(-TINY, -TINY, 1.0, id="negative-subnormal"),
    pytest.param(math.inf, NAN, NAN, id="infinity"),
    pytest.param(-math.inf, NAN, NAN, id="negative-infinity"),
    pytest.param(NAN, NAN, NAN, id="nan"),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("x", "sine", "cosine"), HALF_TURNS)
def test_half_turns(dtype: type[np.floating], x: float, sine: float, cosine: float) -> None:
    """Sinpi and cospi are exact, sign of zero included, where the true value is."""
    argument = np.array([x], dtype)
    assert_same_value(sinpi(argument)[0], sine)
    assert_same_value(cospi(argument)[0], cosine)


@pytest.mark.parametrize(
    ("x", "sine", "cosine"),
    [
        pytest.param(2.0**52 - 0.5, -1.0, 0.0, id="last-half"),
        pytest.param(2.0**52 + 1, 0.0, -1.0, id="odd-above-2^52"),
        pytest.param(2.0**53 - 1, 0.0, -1.0, id="last-odd"),
        pytest.param(2.0**53, 0.0, 1.0, id="first-always-even"),
        pytest.param(-1.7e308, -0.0, 1.0, id="near-largest"),
    ],
)
def test_half_turns_far_out(x: float, sine: float, cosine: float) -> None:
    """The reduction stays exact up to where every float64 is an even integer."""
    assert_same_value(sinpi(np.array([x]))[0], sine)
    assert_same_value(cospi(np.array([x]))[0], cosine)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("x", "sine", "cosine"), RADIANS)
def test_radians(dtype: type[np.floating], x: float, sine: float, cosine: float) -> None:
    """Sine and cosine of special arguments are IEEE libm's, sign of zero included."""
    argument = np.array([x], dtype)
    assert_same_value(sin(argument)[0], sine)
    assert_same_value(cos(argument)[0], cosine)


@pytest.mark.parametrize("function", [sin, cos])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_domain_of_radians(function: Callable[[FloatArray], FloatArray], sign: float) -> None:
    """The bound itself is inside, the next float64 outside, and the message names the argument."""
    inside = np.array([sign * LARGEST_RADIANS])
    assert np.abs(function(inside)[0]) < 1
    outside = np.array([0.0, sign * np.nextafter(LARGEST_RADIANS, np.inf), sign * 3e6])
    with pytest.raises(ValueError, match=r"at most 2\^20 radians.*1048576\.0000000002.*first of 2"):
        function(outside)


def assert_same_value(found: np.floating, expected: float) -> None:
    assert np.float64(found).tobytes() == np.float64(expected).tobytes()
