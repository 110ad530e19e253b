"""What a scheduler of diffusers is at when it takes a step: timesteps, alpha-bars, sigmas.

Knows the attributes of schedulers. Must not know pipelines or events.
"""

from __future__ import annotations

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


def step_state(scheduler: Any, index: int, timestep: Any) -> dict[str, Any]:
    """Return the discrete state of the step with number `index` from 0, which was just taken."""
    held = timestep.item() if isinstance(timestep, torch.Tensor) else timestep
    current = _number(held)
    state: dict[str, Any] = {
        "timestep_index": index,
        "timestep": current,
        "previous_timestep": _previous(scheduler, index, current),
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


def _previous(scheduler: Any, index: int, timestep: int | float) -> int | float:
    """Return the timestep to which a step leads, END for the clean latent."""
    if type(scheduler).__name__ in BY_STRIDE:
        stride = int(scheduler.config.num_train_timesteps // scheduler.num_inference_steps)
        return max(timestep - stride, END)
    following = scheduler.timesteps[index + 1 : index + 2].tolist()
    return _number(following[0]) if following else END


def _alpha_bars(scheduler: Any, timestep: int | float, previous: int | float) -> dict[str, float]:
    bars = scheduler.alphas_cumprod
    after = bars[previous] if previous >= 0 else scheduler.final_alpha_cumprod
    found = {"alpha_bar": float(bars[timestep]), "alpha_bar_previous": float(after)}
    # A schedule that ends in pure noise has an alpha-bar of 0, of which no formula makes anything.
    return found if found["alpha_bar"] > 0 else {}


def _number(timestep: float) -> int | float:
    return int(timestep) if float(timestep).is_integer() else timestep
