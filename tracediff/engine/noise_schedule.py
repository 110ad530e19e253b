"""How much signal is left at each timestep, and which timesteps a run visits.

Knows the scaled-linear schedule and the three published spacings. Must not know the update or
traces. All integers are exact; alpha-bars are float64 and the same bits everywhere.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from tracediff.errors import UsageError

SPACINGS = ("trailing", "leading", "linspace")
END = -1
"""The timestep before the first: nothing but signal."""


@dataclass(frozen=True, slots=True)
class NoiseSchedule:
    """Alpha-bars of `training_steps` timesteps, betas linear in their square roots.

    beta_t = (sqrt(first) + t (sqrt(last) - sqrt(first)) / (steps - 1))^2 and alpha-bar_t is the
    product of 1 - beta_s over s <= t (Rombach et al. 2022, arXiv:2112.10752).
    """

    first_beta: float
    last_beta: float
    training_steps: int

    def alpha_bars(self) -> npt.NDArray[np.float64]:
        """Return all alpha-bars, float64 [training_steps]; a running product by ascending t."""
        low, high = np.sqrt(np.array([self.first_beta, self.last_beta]))
        fractions = np.arange(self.training_steps, dtype=np.float64) / (self.training_steps - 1)
        roots = low + fractions * (high - low)
        alphas = 1.0 - roots * roots
        return np.array(list(accumulate(alphas.tolist(), operator.mul)))

    def alpha_bar(self, timestep: int) -> float:
        """Return one alpha-bar; 1 at the timestep -1, which lies before the first."""
        return 1.0 if timestep == END else float(self.alpha_bars()[timestep])


def space_timesteps(steps: int, spacing: str, training_steps: int) -> list[int]:
    """Return `steps` descending timesteps, as table 2 of Lin et al. 2024 (arXiv:2305.08891) does.

    trailing: round(T - i T / n) - 1; leading: i floor(T / n), descending; linspace:
    round(i (T - 1) / (n - 1)), descending. Rational arithmetic, ties to even. Raises UsageError
    where n is not from 1 to T.
    """
    if not 1 <= steps <= training_steps:
        raise UsageError(
            f"{steps} steps are not possible; allowed is an integer from 1 to {training_steps}"
        )
    match spacing:
        case "trailing":
            stride = Fraction(training_steps, steps)
            return [round(training_steps - index * stride) - 1 for index in range(steps)]
        case "leading":
            return [index * (training_steps // steps) for index in reversed(range(steps))]
        case "linspace":
            stride = Fraction(training_steps - 1, max(steps - 1, 1))
            return [round(index * stride) for index in reversed(range(steps))]
    raise UsageError(f"unknown spacing {spacing!r}; known are {', '.join(SPACINGS)}")


def previous_timesteps(timesteps: list[int]) -> list[int]:
    """Return for every timestep the one that the update leads to: the next in the list, then -1."""
    return [*timesteps[1:], END]
