"""Uniform conversions at their ends, and Box-Muller against its formula in mpmath."""

import mpmath
import numpy as np
import pytest

from tracediff.engine.boxmuller import box_muller, u01, uneg11
from tracediff.engine.philox import PhiloxGenerator


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        # word 2^-32 + 2^-33, the word and the sum rounded to 24 bits each (uniform.hpp, u01)
        pytest.param(0, 2.0**-33, id="smallest"),
        pytest.param(1, 2.0**-32 + 2.0**-33, id="one"),
        pytest.param(2**31, 0.5, id="middle"),
        pytest.param(2**32 - 257, 1 - 2.0**-24, id="last-below-1"),
        pytest.param(2**32 - 128, 1.0, id="tie-rounds-to-1"),
        pytest.param(2**32 - 1, 1.0, id="largest"),
    ],
)
def test_u01(word: int, expected: float) -> None:
    """A word lands in (0, 1], as far as float32 is fine enough."""
    result = u01(np.array([word], np.uint32))
    assert result.dtype == np.float32
    assert result.tolist() == [expected]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        # int32(word) 2^-31 + 2^-32, the word and the sum rounded to 24 bits (uniform.hpp, uneg11)
        pytest.param(0, 2.0**-32, id="zero"),
        pytest.param(2**32 - 1, -(2.0**-32), id="minus-one"),
        pytest.param(2**31 - 1, 1.0, id="largest"),
        pytest.param(2**31, -1.0, id="smallest"),
        pytest.param(2**30, 0.5, id="half"),
    ],
)
def test_uneg11(word: int, expected: float) -> None:
    """A word read as two's complement lands in [-1, 1] and never on 0."""
    result = uneg11(np.array([word], np.uint32))
    assert result.dtype == np.float32
    assert result.tolist() == [expected]


def test_box_muller_is_its_formula() -> None:
    """Sine and cosine of pi uneg11(u0) times sqrt(-2 ln u01(u1)), the nearest float32 each."""
    words = PhiloxGenerator(31).blocks(500).reshape(-1, 2)
    expected = []
    with mpmath.workprec(100):
        for half_turns, uniform in zip(uneg11(words[:, 0]), u01(words[:, 1]), strict=True):
            radius = mpmath.sqrt(-2 * mpmath.log(float(uniform)))
            sine, cosine = mpmath.sinpi(float(half_turns)), mpmath.cospi(float(half_turns))
            expected.append([float(radius * sine), float(radius * cosine)])
    result = box_muller(words[:, 0], words[:, 1])
    assert result.tolist() == np.array(expected).astype(np.float32).tolist()


@pytest.mark.parametrize(
    ("u0", "u1", "expected"),
    [
        pytest.param(0, 2**32 - 1, [0.0, 0.0], id="no-radius"),
        # radius sqrt(-2 ln 2^-33) = sqrt(66 ln 2) = 6.763705635...; angles pi, -pi and pi/2
        pytest.param(2**31 - 1, 0, [0.0, -6.763706], id="half-turn"),
        pytest.param(2**31, 0, [0.0, -6.763706], id="negative-half-turn"),
        pytest.param(2**30, 0, [6.763706, 0.0], id="quarter-turn"),
    ],
)
def test_box_muller_at_its_ends(u0: int, u1: int, expected: list[float]) -> None:
    """The largest radius is finite, the smallest is 0, and quarter turns are exact."""
    result = box_muller(np.array([u0], np.uint32), np.array([u1], np.uint32))
    np.testing.assert_array_max_ulp(result[0], np.array(expected, np.float32), maxulp=1)


@pytest.mark.parametrize("state", ["ignore", "raise"])
def test_errstate_changes_nothing(state: str) -> None:
    """Every corner of the words gives the same normals under any `np.errstate`."""
    corners = np.array([0, 1, 2**31 - 1, 2**31, 2**32 - 1], np.uint32)
    u0, u1 = np.meshgrid(corners, corners)
    with np.errstate(all=state):
        result = box_muller(u0, u1)
    assert result.shape == (5, 5, 2)
    assert np.isfinite(result).all()
    assert result.tobytes() == box_muller(u0, u1).tobytes()
