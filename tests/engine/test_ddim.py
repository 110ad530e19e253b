"""The DDIM update: known numbers, what it must do to perfect predictions, and its noise."""

import math

import mpmath
import numpy as np
import pytest

from tracediff.engine.ddim import DdimStep, update
from tracediff.engine.philox import PhiloxGenerator
from tracediff.errors import UsageError

SHAPE = (1, 4, 16, 16)
CLEAN = PhiloxGenerator(1).normals(1024).reshape(SHAPE).astype(np.float64)
NOISE = PhiloxGenerator(2).normals(1024).reshape(SHAPE).astype(np.float64)
STEPS = [
    pytest.param(DdimStep(0.0047, 0.057), id="much-noise"),
    pytest.param(DdimStep(0.28, 0.68), id="middle"),
    pytest.param(DdimStep(0.68, 1.0), id="last"),
    pytest.param(DdimStep(0.28, 0.68, eta=0.3), id="eta-0.3"),
    pytest.param(DdimStep(0.28, 0.68, eta=1.0), id="eta-1"),
]


def noised(alpha_bar: float) -> np.ndarray:
    return math.sqrt(alpha_bar) * CLEAN + math.sqrt(1 - alpha_bar) * NOISE


def test_two_numbers() -> None:
    """The chapter's example, to the digits that it gives."""
    # Source: section 7.8 of the fixture's definition.
    first = update(np.array([1.0, -1.0]), np.array([0.2, -0.1]), DdimStep(0.25, 0.64))
    assert [f"{x:.6f}" for x in first.predicted_z0] == ["1.653590", "-1.826795"]
    assert [f"{x:.6f}" for x in first.latent] == ["1.442872", "-1.521436"]
    second = update(first.latent, np.array([0.1, -0.2]), DdimStep(0.64, 1.0))
    assert [f"{x:.6f}" for x in second.predicted_z0] == ["1.728590", "-1.751795"]
    assert np.array_equal(second.predicted_z0, second.latent)


@pytest.mark.parametrize("step", STEPS)
def test_perfect_predictions_recover_the_clean_latent(step: DdimStep) -> None:
    """With the true noise as prediction, the clean latent comes back, and so does the next one."""
    if step.eta:
        step = DdimStep(step.alpha_bar, step.alpha_bar_previous)
    found = update(noised(step.alpha_bar), NOISE, step)
    np.testing.assert_allclose(found.predicted_z0, CLEAN, atol=1e-13)
    np.testing.assert_allclose(found.latent, noised(step.alpha_bar_previous), atol=1e-13)


@pytest.mark.parametrize("step", STEPS)
def test_velocity_says_the_same_as_noise(step: DdimStep) -> None:
    """The velocity of a latent and noise leads where that noise leads."""
    bar = step.alpha_bar
    velocity = math.sqrt(bar) * NOISE - math.sqrt(1 - bar) * CLEAN
    by_noise = update(noised(bar), NOISE, step, noise=CLEAN)
    by_velocity = update(noised(bar), velocity, step, "v_prediction", noise=CLEAN)
    np.testing.assert_allclose(by_velocity.predicted_z0, by_noise.predicted_z0, atol=1e-13)
    np.testing.assert_allclose(by_velocity.latent, by_noise.latent, atol=1e-13)


@pytest.mark.parametrize("eta", [0.0, 0.25, 1.0])
def test_noise_keeps_the_total_variance(eta: float) -> None:
    """Direction and added noise together have the variance 1 - alpha-bar of the next timestep."""
    step = DdimStep(0.28, 0.68, eta)
    with mpmath.workdps(40):
        a, b = mpmath.mpf(step.alpha_bar), mpmath.mpf(step.alpha_bar_previous)
        sigma = eta * mpmath.sqrt((1 - b) / (1 - a)) * mpmath.sqrt(1 - a / b)
    assert step.sigma == pytest.approx(float(sigma), rel=1e-15, abs=0.0)
    zeros = np.zeros(SHAPE)
    direction = update(zeros, NOISE, step).latent - math.sqrt(0.68 / 0.28) * update(
        zeros, NOISE, step
    ).predicted_z0 * math.sqrt(0.28)
    added = update(zeros, zeros, step, noise=NOISE).latent
    np.testing.assert_allclose(direction**2 + added**2, (1 - 0.68) * NOISE**2, atol=1e-12)


def test_last_step_adds_no_noise() -> None:
    """Where alpha-bar becomes 1, even eta 1 leaves nothing to add."""
    step = DdimStep(0.68, 1.0, eta=1.0)
    assert step.sigma == 0.0
    found = update(CLEAN, NOISE, step, noise=NOISE)
    assert np.array_equal(found.latent, found.predicted_z0)


def test_float32_is_rounded_once() -> None:
    """A float32 latent gives the float64 result, rounded."""
    latent, prediction = CLEAN.astype(np.float32), NOISE.astype(np.float32)
    step = DdimStep(0.0047, 0.057)
    exact = update(latent.astype(np.float64), prediction.astype(np.float64), step)
    found = update(latent, prediction, step)
    assert found.latent.dtype == np.float32
    assert np.array_equal(found.predicted_z0, exact.predicted_z0.astype(np.float32))
    assert np.array_equal(found.latent, exact.latent.astype(np.float32))


def test_nan_has_one_spelling() -> None:
    """A NaN in, of whatever sign, comes out as the one quiet NaN."""
    latent = np.array([-np.nan, 1.0], np.float32)
    found = update(latent, np.zeros(2, np.float32), DdimStep(0.28, 0.68))
    assert found.latent.view(np.uint32)[0] == 0x7FC00000


def test_unknown_prediction_type() -> None:
    """Another prediction type is refused."""
    with pytest.raises(UsageError, match="known are epsilon, v_prediction"):
        update(CLEAN, NOISE, DdimStep(0.28, 0.68), "sample")
