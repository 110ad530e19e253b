"""ddim-2d: the update alone, on two numbers, small enough to be checked by hand.

Knows the engine's update and the recorder. Must not know files or the command line. Everything is
float64, and only + - * / and square roots are used: the kernels do not differ here.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from tracediff.engine.ddim import EPSILON, DdimStep, update
from tracediff.engine.kernels import Array
from tracediff.errors import UsageError
from tracediff.recording.recordable import Draw, Tensor
from tracediff.recording.recorder import Recorder
from tracediff.workloads.definitions import Definition
from tracediff.workloads.settings import Setting

MOST_STEPS = 100


def _is_vector(value: Any) -> bool:
    return (
        type(value) is list
        and len(value) == 2
        and all(type(x) in (int, float) and abs(x) <= 1e6 for x in value)
    )


def _is_bars(value: Any) -> bool:
    if type(value) is not list or not 2 <= len(value) <= MOST_STEPS + 1:
        return False
    if not all(type(x) in (int, float) and 0 < x <= 1 for x in value):
        return False
    return value[0] == 1 and all(first > second for first, second in pairwise(value))


SETTINGS = (
    Setting(
        "alpha_bars",
        "alpha-bar of the timesteps 0, 1, 2, …",
        "a JSON list of 2 to 101 descending numbers above 0 that starts with 1",
        _is_bars,
    ),
    Setting("latent", "where it starts", "a JSON list of two numbers", _is_vector),
    Setting(
        "epsilons",
        "the predicted noise at the timesteps 1, 2, …",
        "a JSON list of pairs of numbers, one pair fewer than there are alpha_bars",
        lambda value: type(value) is list and all(_is_vector(pair) for pair in value),
    ),
)


def validate(definition: Definition, settings: Mapping[str, Any]) -> None:
    """Raise UsageError where the lists do not fit together."""
    steps = len(settings["alpha_bars"]) - 1
    if len(settings["epsilons"]) != steps:
        raise UsageError(
            f"ddim-2d: {len(settings['epsilons'])} epsilons do not fit "
            f"{len(settings['alpha_bars'])} alpha_bars; allowed here are {steps}"
        )


def run_ddim_2d(
    definition: Definition, settings: Mapping[str, Any], recorder: Recorder
) -> tuple[float, ...]:
    """Run the fixture and tell `recorder` every event; return the final latent."""
    bars = settings["alpha_bars"]
    timesteps = list(range(len(bars) - 1, 0, -1))
    latent = np.array(settings["latent"], np.float64)
    scheduler = {"scheduler": definition.content["scheduler"]["id"]}
    recorder.event(
        "scheduler",
        "latent.initialized",
        artifacts=scheduler,
        state={"timesteps": timesteps, "end_timestep": 0},
        settings=settings,
        outputs={"latent": _at(latent, timesteps[0])},
    )
    for index, timestep in enumerate(timesteps):
        step = DdimStep(float(bars[timestep]), float(bars[timestep - 1]))
        epsilon = np.array(settings["epsilons"][timestep - 1], np.float64)
        updated = update(latent, epsilon, step)
        recorder.event(
            "scheduler",
            "denoise.updated",
            logical_step=index + 1,
            artifacts=scheduler,
            state={
                "timestep_index": index,
                "timestep": timestep,
                "previous_timestep": timestep - 1,
                "alpha_bar": step.alpha_bar,
                "alpha_bar_previous": step.alpha_bar_previous,
                "prediction_type": EPSILON,
            },
            inputs={"latent": _at(latent, timestep), "epsilon": _at(epsilon, timestep)},
            rng=[Draw("noise", "none", counter_before=0, counter_after=0, count=0)],
            outputs={
                "predicted_z0": _at(updated.predicted_z0, timestep),
                "latent_out": _at(updated.latent, timestep - 1),
            },
        )
        latent = updated.latent
    recorder.event(
        "transport",
        "response.completed",
        logical_step=len(timesteps),
        choice={"status": "FINISHED"},
    )
    return tuple(float(x) for x in latent)


def _at(array: Array, timestep: int) -> Tensor:
    return Tensor(array, {"timestep": timestep})
