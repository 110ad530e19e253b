"""What a user may override in image-001, and what the settings together mean.

Knows values only; what a setting does to a picture is `image`'s matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from tracediff.engine.ddim import PREDICTION_TYPES
from tracediff.engine.noise_schedule import SPACINGS, space_timesteps
from tracediff.errors import UsageError
from tracediff.workloads.definitions import Definition
from tracediff.workloads.image_model import tokenize_padded
from tracediff.workloads.settings import Setting, integer, number, switch, text

TRAINING_STEPS = 1000
MOST_IMAGES = 8
LARGEST_SEED = 2**64 - 1
GENERATOR_MODES = ("one", "list")


def _option(name: str, options: Sequence[str], purpose: str) -> Setting:
    return Setting(name, purpose, f"one of {', '.join(options)}", lambda value: value in options)


def _is_descending(value: Any) -> bool:
    if type(value) is not list or not all(type(x) is int for x in value):
        return False
    inside = all(0 <= x < TRAINING_STEPS for x in value)
    return inside and all(first > second for first, second in pairwise(value))


SETTINGS = (
    text("prompt", "what the picture shows; the vocabulary must cover it, in 12 tokens at most"),
    Setting(
        "negative_prompt",
        "what guidance leads away from; empty is padding only",
        "a string, of 12 tokens at most",
        lambda value: type(value) is str,
    ),
    integer("seed", 0, LARGEST_SEED, "key of the noise generator"),
    Setting(
        "timesteps",
        "timesteps to visit; an empty list takes them from steps and spacing",
        f"a JSON list of descending integers from 0 to {TRAINING_STEPS - 1}, "
        "such as [999,749,499,249]",
        _is_descending,
    ),
    integer("steps", 1, TRAINING_STEPS, "how many timesteps to visit"),
    _option("spacing", SPACINGS, "how the timesteps are spaced"),
    number("eta", 0.0, 1.0, "how much noise each step adds; 0 adds and draws none"),
    number("guidance_scale", 0.0, 100.0, "weight of the positive against the negative prediction"),
    _option("prediction_type", PREDICTION_TYPES, "what the scheduler takes the prediction for"),
    number("vae_scaling_factor", 1e-3, 1e3, "the decoder gets latents divided by this"),
    integer("batch_size", 1, MOST_IMAGES, "how many pictures to make"),
    _option(
        "generator_mode",
        GENERATOR_MODES,
        "one generator for the batch, or a list of one for each picture (seed, seed + 1, …)",
    ),
    switch("preview", "send a small picture after every step; each replaces the one before"),
)


def resolve_timesteps(settings: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[int]:
    """Return the timesteps that a run visits.

    Raises UsageError where a list is given together with another count or spacing of steps.
    """
    if not settings["timesteps"]:
        return space_timesteps(settings["steps"], settings["spacing"], TRAINING_STEPS)
    for key in ("steps", "spacing"):
        if settings[key] != defaults[key]:
            raise UsageError(
                f"image-001: timesteps and {key} cannot be set together; allowed is either a list "
                "of timesteps, or steps and spacing"
            )
    return list(settings["timesteps"])


def resolve_seeds(settings: Mapping[str, Any]) -> list[int]:
    """Return the seed of each picture's generator; a batch with one generator has one seed."""
    if settings["generator_mode"] == "one":
        return [settings["seed"]]
    seeds = list(range(settings["seed"], settings["seed"] + settings["batch_size"]))
    if seeds[-1] > LARGEST_SEED:
        raise UsageError(
            f"image-001: seed={settings['seed']} leaves no {len(seeds)} seeds; allowed here is an "
            f"integer from 0 to {LARGEST_SEED - len(seeds) + 1}"
        )
    return seeds


def validate(definition: Definition, settings: Mapping[str, Any]) -> None:
    """Raise UsageError for settings that are impossible together or a prompt that is too long.

    Raises TokenizerError for a prompt that the vocabulary does not cover.
    """
    resolve_timesteps(settings, definition.content["settings"])
    resolve_seeds(settings)
    for key in ("prompt", "negative_prompt"):
        tokenize_padded(definition.content, key, settings[key])
