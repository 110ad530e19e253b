"""The DDIMScheduler of diffusers as an oracle: schedule, timesteps, and every step.

Runs where diffusers and torch can be imported; elsewhere it is skipped. For linspace, and for
counts that do not divide 1000, that scheduler steps to t - 1000 // n, which is not the next
timestep of its own list: there it is an oracle of the timesteps alone.
"""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tracediff.engine.ddim import DdimStep, update
from tracediff.engine.noise_schedule import NoiseSchedule, previous_timesteps, space_timesteps
from tracediff.engine.philox import PhiloxGenerator

pytestmark = [
    pytest.mark.diffusers,
    pytest.mark.filterwarnings("ignore"),  # of other packages
]
SCHEDULE = NoiseSchedule(0.00085, 0.012, 1000)
DIVISORS = [1, 2, 4, 5, 8, 10, 20, 25, 40, 50, 100]


def scheduler(spacing: str, prediction_type: str = "epsilon") -> Any:
    diffusers = pytest.importorskip("diffusers", reason="needs diffusers and torch")
    pytest.importorskip("torch", reason="needs torch")
    return diffusers.DDIMScheduler(
        num_train_timesteps=1000,
        beta_start=0.00085,
        beta_end=0.012,
        beta_schedule="scaled_linear",
        clip_sample=False,
        set_alpha_to_one=True,
        prediction_type=prediction_type,
        timestep_spacing=spacing,
    )


def test_schedule() -> None:
    """All alpha-bars agree within the float32 in which the oracle computes them."""
    expected = scheduler("trailing").alphas_cumprod.numpy().astype(np.float64)
    np.testing.assert_allclose(SCHEDULE.alpha_bars(), expected, rtol=5e-6, atol=0)


@pytest.mark.parametrize("spacing", ["trailing", "leading", "linspace"])
def test_timesteps(spacing: str) -> None:
    """For 1 to 1000 steps the lists agree, except where the oracle's floats miss an exact tie.

    At such a tie (937.5) floats may fall below it; and for some counts its range has one element
    more, -1, which is no timestep.
    """
    oracle = scheduler(spacing)
    for steps in range(1, 1001):
        oracle.set_timesteps(steps)
        expected = [t for t in oracle.timesteps.tolist() if t >= 0]
        found = space_timesteps(steps, spacing, 1000)
        assert len(found) == len(expected)
        for index, (mine, other) in enumerate(zip(found, expected, strict=True)):
            assert mine == other or is_tie(spacing, steps, index), (steps, index)


def is_tie(spacing: str, steps: int, index: int) -> bool:
    if spacing == "trailing":
        exact = 1000 - Fraction(1000 * index, steps)
    else:
        exact = Fraction(999 * (steps - 1 - index), max(steps - 1, 1))
    return exact.denominator == 2


@pytest.mark.parametrize("prediction_type", ["epsilon", "v_prediction"])
@pytest.mark.parametrize("eta", [0.0, 1.0])
@pytest.mark.parametrize("spacing", ["trailing", "leading"])
def test_every_step(spacing: str, eta: float, prediction_type: str) -> None:
    """Same latent, prediction and noise in: same clean and next latent out, at every timestep."""
    oracle = scheduler(spacing, prediction_type)
    torch = pytest.importorskip("torch", reason="needs torch")
    generator = PhiloxGenerator(314159)
    for steps in DIVISORS:
        oracle.set_timesteps(steps)
        timesteps = space_timesteps(steps, spacing, 1000)
        for timestep, previous in zip(timesteps, previous_timesteps(timesteps), strict=True):
            latent, prediction, noise = (
                generator.normals(256).reshape(1, 4, 8, 8) for _ in range(3)
            )
            step = DdimStep(SCHEDULE.alpha_bar(timestep), SCHEDULE.alpha_bar(previous), eta)
            found = update(latent, prediction, step, prediction_type, noise if eta else None)
            expected = oracle.step(
                torch.from_numpy(prediction),
                timestep,
                torch.from_numpy(latent),
                eta=eta,
                variance_noise=torch.from_numpy(noise) if eta else None,
            )
            # The oracle's alpha-bars are float32, and it divides by sqrt(alpha-bar), 0.068 or more.
            clean = expected.pred_original_sample.numpy()
            np.testing.assert_allclose(found.predicted_z0, clean, rtol=2e-5, atol=2e-5)
            np.testing.assert_allclose(found.latent, expected.prev_sample, rtol=2e-5, atol=2e-5)
