"""The noise schedule and the spacings of timesteps, against their formulas in exact arithmetic."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from tracediff.engine.noise_schedule import (
    END,
    NoiseSchedule,
    previous_timesteps,
    space_timesteps,
)
from tracediff.errors import UsageError

SCHEDULE = NoiseSchedule(0.00085, 0.012, 1000)


def test_alpha_bars_follow_their_formula() -> None:
    """Every alpha-bar is the product of 1 - beta, betas linear in their square roots."""
    with mpmath.workdps(40):
        low, high = mpmath.sqrt(mpmath.mpf(0.00085)), mpmath.sqrt(mpmath.mpf(0.012))
        product, expected = mpmath.mpf(1), []
        for timestep in range(1000):
            product *= 1 - (low + (high - low) * timestep / 999) ** 2
            expected.append(float(product))
    np.testing.assert_allclose(SCHEDULE.alpha_bars(), expected, rtol=1e-14, atol=0)


@pytest.mark.parametrize(
    ("timestep", "expected"),
    [
        # Source: DDIMScheduler of diffusers 0.42.1, alphas_cumprod in float32.
        pytest.param(999, 0.00466009508818388, id="last"),
        pytest.param(749, 0.05662344768643379, id="749"),
        pytest.param(499, 0.27766942977905273, id="499"),
        pytest.param(249, 0.6754320859909058, id="249"),
    ],
)
def test_alpha_bars_are_the_usual_ones(timestep: int, expected: float) -> None:
    """The schedule is the scaled-linear one, up to the float32 of others."""
    assert SCHEDULE.alpha_bar(timestep) == pytest.approx(expected, rel=2e-6)


def test_nothing_but_signal_is_left_at_the_end() -> None:
    """At timestep -1 alpha-bar is 1."""
    assert SCHEDULE.alpha_bar(END) == 1.0


@pytest.mark.parametrize(
    ("steps", "spacing", "expected"),
    [
        pytest.param(4, "trailing", [999, 749, 499, 249], id="trailing-4"),
        pytest.param(4, "leading", [750, 500, 250, 0], id="leading-4"),
        pytest.param(4, "linspace", [999, 666, 333, 0], id="linspace-4"),
        # Source: the published off-by-one between frameworks, 10 steps.
        pytest.param(10, "trailing", [999 - 100 * i for i in range(10)], id="trailing-10"),
        pytest.param(10, "leading", [900 - 100 * i for i in range(10)], id="leading-10"),
        pytest.param(10, "linspace", [999 - 111 * i for i in range(10)], id="linspace-10"),
        pytest.param(1, "trailing", [999], id="trailing-1"),
        pytest.param(1, "leading", [0], id="leading-1"),
        pytest.param(1, "linspace", [0], id="linspace-1"),
        # 61 steps: in floats, 1000 - 61 * (1000 / 61) is a little above 0, and others add a step.
        pytest.param(3, "trailing", [999, 666, 332], id="trailing-rounds"),
        # 937.5 is a tie, which goes to the even 938.
        pytest.param(48, "trailing", None, id="trailing-tie"),
    ],
)
def test_spacings(steps: int, spacing: str, expected: list[int] | None) -> None:
    """Each spacing gives its list."""
    found = space_timesteps(steps, spacing, 1000)
    if expected is None:
        assert found[3] == 937
    else:
        assert found == expected


@pytest.mark.parametrize("spacing", ["trailing", "leading", "linspace"])
def test_every_count_gives_as_many_descending_timesteps(spacing: str) -> None:
    """From 1 to 1000 steps: so many, descending, from 0 to 999."""
    for steps in [*range(1, 101), *range(101, 1001, 9)]:
        found = space_timesteps(steps, spacing, 1000)
        assert len(found) == steps
        assert found == sorted(set(found), reverse=True)
        assert 0 <= found[-1] <= found[0] <= 999


def test_spacings_are_nearest_integers() -> None:
    """Trailing and linspace lie within half a step of their exact places."""
    for steps in range(2, 1001, 37):
        for index, found in enumerate(space_timesteps(steps, "trailing", 1000)):
            exact = 1000 - Fraction(1000 * index, steps) - 1
            assert abs(found - exact) <= Fraction(1, 2)
        for index, found in enumerate(reversed(space_timesteps(steps, "linspace", 1000))):
            assert abs(found - Fraction(999 * index, steps - 1)) <= Fraction(1, 2)


@pytest.mark.parametrize(
    ("steps", "spacing", "message"),
    [
        pytest.param(0, "trailing", "allowed is an integer from 1 to 1000", id="none"),
        pytest.param(1001, "leading", "allowed is an integer from 1 to 1000", id="too-many"),
        pytest.param(4, "karras", "known are trailing, leading, linspace", id="spacing"),
    ],
)
def test_errors_name_what_is_allowed(steps: int, spacing: str, message: str) -> None:
    """What is not possible is refused."""
    with pytest.raises(UsageError, match=message):
        space_timesteps(steps, spacing, 1000)


def test_previous_is_the_next() -> None:
    """A step leads to the next timestep of the list, never to t - stride; the last to -1."""
    assert previous_timesteps([999, 888, 777]) == [888, 777, -1]
