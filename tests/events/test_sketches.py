"""Distance and its interval from two sketches."""

import math

import mpmath
import pytest

from tracediff.events.sketches import CONFIDENCE, confidence_interval, estimate_distance


def test_distance_is_euclidean() -> None:
    """The estimate is the norm of the difference."""
    assert estimate_distance([1.0] * 64, [0.5] * 64) == 4.0
    assert estimate_distance([1.0] * 64, [1.0] * 64) == 0.0


@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param(["Infinity", 1.0], [2.0, 1.0], id="one-side"),
        pytest.param(["Infinity", 1.0], ["Infinity", 1.0], id="both-sides"),
        pytest.param([math.nan, 1.0], [2.0, 1.0], id="nan"),
    ],
)
def test_infinite_components_tell_nothing(
    left: list[float | str], right: list[float | str]
) -> None:
    """The distance is infinite, which no tolerance allows."""
    assert estimate_distance(left, right) == math.inf


def test_lengths_must_agree() -> None:
    """Sketches of other lengths are no sketches of the same kind."""
    with pytest.raises(ValueError, match="64 and 63"):
        estimate_distance([0.0] * 64, [0.0] * 63)


@pytest.mark.parametrize(("bound", "tail"), [(0, 0.0005), (1, 0.9995)], ids=["lower", "upper"])
def test_interval_has_chi_square_tails(bound: int, tail: float) -> None:
    """The squared factor times 64 is the chi-square quantile that leaves half the rest outside."""
    assert min(tail, 1 - tail) == pytest.approx((1 - CONFIDENCE) / 2)
    factor = confidence_interval(1.0)[bound]
    quantile = 64 / factor**2
    below = mpmath.gammainc(32, 0, quantile / 2, regularized=True)
    assert float(below) == pytest.approx(1 - tail, abs=1e-12)


@pytest.mark.parametrize(
    ("estimate", "rounding", "lower", "upper"),
    [
        pytest.param(0.0, 0.0, 0.0, 0.0, id="equal"),
        pytest.param(1.0, 2.0, 0.0, 3 * 1.389155849206309, id="all-rounding"),
        pytest.param(math.inf, 0.0, 0.0, math.inf, id="unknown"),
    ],
)
def test_interval_at_its_ends(estimate: float, rounding: float, lower: float, upper: float) -> None:
    """Rounding widens the interval; an unknown distance may be any."""
    assert confidence_interval(estimate, rounding) == pytest.approx((lower, upper))
