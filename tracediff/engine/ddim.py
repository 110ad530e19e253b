"""The update of denoising diffusion implicit models.

Knows one step: latent and prediction in, cleaner latent out. Must not know networks, schedules or
traces. Song, Meng and Ermon 2021, arXiv:2010.02502, equations 12 and 16; velocity after Salimans
and Ho 2022, arXiv:2202.00512. Everything is computed in float64 and rounded once to the latent's
type.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tracediff.engine.elementwise import unify_nan
from tracediff.engine.kernels import Array
from tracediff.errors import UsageError

EPSILON = "epsilon"
VELOCITY = "v_prediction"
PREDICTION_TYPES = (EPSILON, VELOCITY)


@dataclass(frozen=True, slots=True)
class DdimStep:
    """One step's constants: alpha-bar now, alpha-bar after, and eta from 0 to 1."""

    alpha_bar: float
    alpha_bar_previous: float
    eta: float = 0.0

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise that the step adds (equation 16)."""
        ratio = (1.0 - self.alpha_bar_previous) / (1.0 - self.alpha_bar)
        return (
            self.eta * math.sqrt(ratio) * math.sqrt(1.0 - self.alpha_bar / self.alpha_bar_previous)
        )


@dataclass(frozen=True, slots=True)
class DdimUpdate:
    """What a step computed: the predicted clean latent and the next latent."""

    predicted_z0: Array
    latent: Array


def update(
    latent: Array,
    prediction: Array,
    step: DdimStep,
    prediction_type: str = EPSILON,
    noise: Array | None = None,
) -> DdimUpdate:
    """Return the predicted clean latent and the latent at the previous timestep.

    latent, prediction and noise have one shape, float32 or float64. `noise` is used only where
    sigma is positive. Raises UsageError for an unknown prediction type.
    """
    before = latent.astype(np.float64)
    clean, epsilon = _interpret(before, prediction.astype(np.float64), step, prediction_type)
    sigma = step.sigma
    after = math.sqrt(step.alpha_bar_previous) * clean
    # Rounding may leave a difference just below 0 where eta is 1 and nothing else is left.
    after += math.sqrt(max(1.0 - step.alpha_bar_previous - sigma * sigma, 0.0)) * epsilon
    if noise is not None:
        after += sigma * noise.astype(np.float64)
    unify_nan(clean)
    unify_nan(after)
    return DdimUpdate(clean.astype(latent.dtype), after.astype(latent.dtype))


def _interpret(
    latent: Array, prediction: Array, step: DdimStep, prediction_type: str
) -> tuple[Array, Array]:
    """Return the clean latent and the noise that a prediction stands for."""
    signal, noise = math.sqrt(step.alpha_bar), math.sqrt(1.0 - step.alpha_bar)
    match prediction_type:
        case "epsilon":
            return (latent - noise * prediction) / signal, prediction
        case "v_prediction":
            return signal * latent - noise * prediction, signal * prediction + noise * latent
    raise UsageError(
        f"unknown prediction type {prediction_type!r}; known are {', '.join(PREDICTION_TYPES)}"
    )
