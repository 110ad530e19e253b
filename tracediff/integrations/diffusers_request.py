"""What one call of a diffusers pipeline asks for: its arguments, components and generators.

Knows names of arguments and configurations. Must not know events or what the call computes.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch

from tracediff.events import ToleranceRule, Tolerances
from tracediff.integrations.diffusers_pictures import as_tensor, is_array

TEXT_TO_PICTURE: Final = frozenset({"StableDiffusionPipeline", "StableDiffusionXLPipeline"})
"""Pipelines, and what is derived from them, that make a picture from noise alone."""

KNOWN_SCHEDULERS: Final = frozenset(
    (
        *("DDIMScheduler", "DDIMParallelScheduler", "EulerDiscreteScheduler"),
        *("DPMSolverMultistepScheduler", "UniPCMultistepScheduler", "DEISMultistepScheduler"),
        *("PNDMScheduler", "HeunDiscreteScheduler", "KDPM2DiscreteScheduler"),
        *("EulerAncestralDiscreteScheduler", "LCMScheduler", "DDPMScheduler"),
        "DPMSolverSinglestepScheduler",
    )
)
"""Schedulers whose steps visit the timesteps of their own list, descending."""

SEVERAL_STEPS: Final = frozenset(
    {"PNDMScheduler", "HeunDiscreteScheduler", "KDPM2DiscreteScheduler"}
)
"""Those of them that may take more than one step at a timestep."""

DRAWS_NOISE: Final = frozenset({"EulerAncestralDiscreteScheduler", "LCMScheduler", "DDPMScheduler"})
"""Those of them whose steps draw noise, whatever `eta` is."""

TOLERANCES: Final = Tolerances(
    (
        # Both divide: by sqrt(alpha-bar), 0.07 at the first step, and by the VAE's factor, 0.18.
        ToleranceRule("predicted_z0", "allclose", rtol=1.3e-6, atol=1.5e-4, rel_l2=1e-5),
        ToleranceRule("latent_scaled", "allclose", rtol=1.3e-6, atol=6e-5, rel_l2=1e-5),
        # A number at a rounding border falls to either side: one level, in few pixels.
        ToleranceRule("pixels_uint8", "allclose", atol=1.0, rel_l2=1e-3),
    )
)
"""Of pipelines in float32; those of other types go by the defaults of the type."""

PIXELS_ONLY: Final = Tolerances(TOLERANCES.rules[-1:])


@dataclass(frozen=True, slots=True)
class Request:
    """One call: what it was asked for.

    `pictures` is the size of the batch; `is_shared` says that all of it has one prompt;
    `generators` are by picture, one of them for all if there is only one, none for torch's own;
    `inputs` are tensors and pictures that were handed in. `draws_latents` says that whatever is
    drawn is normals in the shape of the latent.
    """

    kind: str
    texts: Mapping[str, Any]
    settings: Mapping[str, Any]
    inputs: Mapping[str, Any]
    generators: tuple[torch.Generator, ...]
    pictures: int
    is_shared: bool
    draws_latents: bool
    tolerances: Tolerances


def read_request(
    pipe: Any, signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Request:
    """Return what a call asks for; raise TypeError where it does not fit the signature."""
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    arguments = {**bound.arguments, **bound.arguments.get("kwargs", {})}
    texts = {key: value for key, value in arguments.items() if _is_text(key, value)}
    prompt, embeds = arguments.get("prompt"), arguments.get("prompt_embeds")
    prompts = len(prompt) if isinstance(prompt, list) else 1 if embeds is None else len(embeds)
    pictures = prompts * int(arguments.get("num_images_per_prompt") or 1)
    generator = arguments.get("generator")
    generators = tuple(generator) if isinstance(generator, list | tuple) else (generator,)
    known = tuple(one for one in generators if one is not None)
    is_known = _is_known(pipe)
    return Request(
        kind="image" if is_known and arguments.get("output_type") != "latent" else "generic",
        texts=texts,
        settings=_settings(pipe, arguments, texts, known, pictures),
        inputs=_inputs(arguments),
        generators=known,
        pictures=pictures,
        is_shared=prompts == 1,
        draws_latents=is_known,
        tolerances=TOLERANCES if pipe.unet.dtype == torch.float32 else PIXELS_ONLY,
    )


def _is_text(key: str, value: Any) -> bool:
    is_prompt = key.startswith(("prompt", "negative_prompt"))
    return is_prompt and (isinstance(value, str) or _all_are(value, str))


def _all_are(value: Any, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(item, kind) for item in value)


def _is_known(pipe: Any) -> bool:
    """Whether a pipeline makes a picture of noise alone, by a scheduler that is known."""
    names = {base.__name__ for base in type(pipe).__mro__}
    return bool(names & TEXT_TO_PICTURE) and type(pipe.scheduler).__name__ in KNOWN_SCHEDULERS


def _steps(scheduler: Any) -> dict[str, bool]:
    """Return how a scheduler steps, where that is not one step a timestep without noise."""
    name = type(scheduler).__name__
    is_random = str(scheduler.config.get("algorithm_type", "")).startswith("sde")
    found = {
        "repeats_timesteps": name in SEVERAL_STEPS,
        "draws_noise": name in DRAWS_NOISE or is_random,
    }
    return {key: value for key, value in found.items() if value}


def _settings(
    pipe: Any,
    arguments: Mapping[str, Any],
    texts: Mapping[str, Any],
    generators: Sequence[torch.Generator],
    pictures: int,
) -> dict[str, Any]:
    plain = {
        key: value
        for key, value in arguments.items()
        if key not in texts and _is_plain(value) and key not in ("timesteps", "sigmas")
    }
    if "eta" not in inspect.signature(pipe.scheduler.step).parameters:
        plain.pop("eta", None)  # it determines nothing
    seeds = [generator.initial_seed() for generator in generators]
    config = pipe.scheduler.config
    scheduler = {
        key: value
        for key, value in config.items()
        if not key.startswith("_") and (_is_plain(value) or _all_are(value, float))
    }
    vae = pipe.vae.config
    # With means and deviations of its own, the VAE undoes more than a factor.
    has_factor = getattr(vae, "latents_mean", None) is None
    name = "vae_scaling_factor" if has_factor else "vae_scaling_factor_of_normalised"
    return {
        **plain,
        "seed": seeds[0] if len(seeds) == 1 else seeds,
        "generator_mode": ("default", "one")[len(seeds)] if len(seeds) < 2 else "list",
        "batch_size": pictures,
        "prediction_type": config.get("prediction_type", "epsilon"),
        name: getattr(vae, "scaling_factor", None),
        "dtype": str(pipe.unet.dtype).removeprefix("torch."),
        **_steps(pipe.scheduler),
        "scheduler": scheduler,
    }


def _is_plain(value: Any) -> bool:
    return value is not None and isinstance(value, bool | int | float | str)


def _inputs(arguments: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in arguments.items():
        for name, held in _arrays(f"argument.{key}", value):
            found[name] = as_tensor(name, held)
    return found


def _arrays(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield what is an array among arguments; callbacks, generators and options are none."""
    if is_array(value):
        yield name, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _arrays(f"{name}.{key}", item)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _arrays(f"{name}[{index}]" if len(value) > 1 else name, item)
