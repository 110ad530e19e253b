"""What a scheduler of diffusers is at when it takes a step: timesteps, alpha-bars, sigmas.

Knows the attributes of schedulers. Must not know pipelines or events.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import torch

END: Final = -1
"""The timestep of the clean latent, to which the last step leads."""

BY_STRIDE: Final = frozenset({"DDIMScheduler", "DDIMParallelScheduler"})
"""Schedulers that step by a fixed stride, whatever timestep their own list has next."""

PREDICTION_NAMES: Final = {"epsilon": "epsilon", "v_prediction": "velocity"}


def prediction_name(scheduler: Any) -> str:
    """Return what the network's output is called: `epsilon`, `velocity` or `prediction`."""
    return PREDICTION_NAMES.get(str(scheduler.config.get("prediction_type")), "prediction")


def clean_name(scheduler: Any) -> str:
    """Return what the predicted clean latent is called: it may have been clipped."""
    config = scheduler.config
    is_clipped = config.get("clip_sample") or config.get("thresholding")
    return "clipped_z0" if is_clipped else "predicted_z0"


def scales_input(scheduler: Any) -> bool:
    """Whether the network reads the latent divided by something that depends on the step."""
    return float(scheduler.init_noise_sigma) != 1.0


def listed_timesteps(scheduler: Any) -> list[int | float]:
    """Return the timesteps that the scheduler was set to."""
    return [_number(timestep) for timestep in scheduler.timesteps.tolist()]


def step_state(scheduler: Any, index: int, start: int, timestep: Any) -> dict[str, Any]:
    """Return the discrete state of the step with number `index` from 0, which was just taken.

    `start` is the place in the scheduler's list at which the call began.
    """
    held = timestep.item() if isinstance(timestep, torch.Tensor) else timestep
    current = _number(held)
    state: dict[str, Any] = {
        "timestep_index": index,
        "timestep": current,
        "previous_timestep": _previous(scheduler, start + index, current),
    }
    if type(scheduler).__name__ in BY_STRIDE:
        state |= _alpha_bars(scheduler, current, state["previous_timestep"])
    at = getattr(scheduler, "step_index", None)
    sigmas = getattr(scheduler, "sigmas", None)
    # Schedulers count on at the end of a step.
    if at is not None and sigmas is not None and 0 < at < len(sigmas):
        state |= {
            "sigma_index": int(at) - 1,
            "sigma": float(sigmas[at - 1]),
            "sigma_next": float(sigmas[at]),
        }
    return state | {"prediction_type": scheduler.config.get("prediction_type", "epsilon")}


def step_result(found: Any) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Return the next latent and, where the scheduler says it, the predicted clean one."""
    if isinstance(found, tuple):
        clean = found[1] if len(found) > 1 else None
        after = found[0]
    else:
        after, clean = found.prev_sample, getattr(found, "pred_original_sample", None)
    return after, clean if isinstance(clean, torch.Tensor) and clean.shape == after.shape else None


def _previous(scheduler: Any, expected: int, timestep: int | float) -> int | float:
    """Return the timestep to which a step leads, END for the clean latent.

    `expected` is the place in the scheduler's list at which the step should be.
    """
    if type(scheduler).__name__ in BY_STRIDE:
        stride = int(scheduler.config.num_train_timesteps // scheduler.num_inference_steps)
        return max(timestep - stride, END)
    listed = listed_timesteps(scheduler)
    place = _place(scheduler, listed, expected, timestep)
    return listed[place + 1] if place + 1 < len(listed) else END


def _place(
    scheduler: Any, listed: Sequence[int | float], expected: int, timestep: int | float
) -> int:
    """Return the place of a timestep in the list, which may hold it several times."""
    counted = getattr(scheduler, "step_index", None)  # counted on at the end of the step
    found = [expected] if counted is None else [expected, int(counted) - 1]
    found += [place for place, one in enumerate(listed) if one == timestep]
    fitting = [at for at in found if 0 <= at < len(listed) and listed[at] == timestep]
    return fitting[0] if fitting else expected


def _alpha_bars(scheduler: Any, timestep: int | float, previous: int | float) -> dict[str, float]:
    bars = scheduler.alphas_cumprod
    after = bars[previous] if previous >= 0 else scheduler.final_alpha_cumprod
    found = {"alpha_bar": float(bars[timestep]), "alpha_bar_previous": float(after)}
    # A schedule that ends in pure noise has an alpha-bar of 0, of which no formula makes anything.
    return found if found["alpha_bar"] > 0 else {}


def _number(timestep: float) -> int | float:
    return int(timestep) if float(timestep).is_integer() else timestep
