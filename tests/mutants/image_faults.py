"""Faults in the engine of image-001: noise, guidance, update, networks, decoding, file."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from mutants.faulty_runs import (
    Exchange,
    by,
    changing_arguments,
    changing_result,
    changing_weight,
    faulty,
)
from mutants.mutant import Mutant

from tracediff.engine import boxmuller
from tracediff.engine.ddim import VELOCITY, DdimStep
from tracediff.engine.noise_schedule import NoiseSchedule
from tracediff.events import Trace
from tracediff.workloads.run import run_fixture

RUN = "tracediff.workloads.image:"
GUIDANCE = "tracediff.engine.guidance:"
PHILOX = "tracediff.engine.philox:"
NORMALS = f"{PHILOX}PhiloxGenerator.normals"


@cache
def picture() -> Trace:
    """Return the run without overrides."""
    return run_fixture("image-001")


@cache
def noisy_picture() -> Trace:
    """Return a run of two steps that adds noise after each."""
    return run_fixture("image-001", {"eta": 1.0, "steps": 2})


def row(
    name: str,
    event: str,
    check: str,
    cause: str,
    *exchanges: Exchange,
    golden: Callable[[], Trace] = picture,
    **overrides: Any,
) -> Mutant:
    mutant = faulty("image-001", *exchanges, overrides=overrides)
    return Mutant(name, golden, mutant, event, check, cause)


def _weight(builder: str, name: str) -> Exchange:
    def change(array: Any) -> Any:
        changed = array.copy()
        changed.reshape(-1)[0] += np.float32(0.5)
        return changed

    return changing_weight(f"tracediff.workloads.image_model:{builder}", name, change)


def _padded_with(token: int) -> Exchange:
    return changing_result(
        f"{RUN}tokenize_padded", lambda ids: [token if x == 0 else x for x in ids]
    )


def _sines_last(u0: Any, u1: Any) -> Any:
    return boxmuller.box_muller(u0, u1)[..., ::-1]


def _one_block_late(original: Any) -> Any:
    return lambda seed: original(seed, counter=1)


def _not_advancing(original: Any) -> Any:
    def draw(self: Any, n: int) -> Any:
        before = self.counter
        found = original(self, n)
        self._counter = before
        return found

    return draw


def _stride_of_the_whole(timesteps: list[int]) -> list[int]:
    return [max(t - 1000 // len(timesteps) - 1, -1) for t in timesteps]


def _with_step(change: Callable[[DdimStep], DdimStep]) -> Exchange:
    def arguments(latent: Any, guided: Any, step: DdimStep, *rest: Any) -> tuple[Any, ...]:
        return latent, guided, change(step), *rest

    return changing_arguments(f"{RUN}update", arguments)


def _as_velocity(latent: Any, guided: Any, step: Any, kind: str, noise: Any) -> tuple[Any, ...]:
    return latent, guided, step, VELOCITY, noise


def _bar(timestep: int) -> float:
    return NoiseSchedule(0.00085, 0.012, 1000).alpha_bar(timestep)


def _one_timestep_late(denoiser: Any, latent: Any, timestep: int, condition: Any) -> Any:
    return denoiser, latent, timestep - 1, condition


def _only_negative(denoiser: Any, latent: Any, timestep: int, condition: Any) -> Any:
    return denoiser, latent, timestep, np.concatenate([condition[:1], condition[:1]])


def _stale(original: Any) -> Any:
    """The latent that a step made is not kept: the next one starts from the old one."""

    def step(run: Any, picture: Any, *rest: Any) -> None:
        before = picture.latent
        original(run, picture, *rest)
        picture.latent = before

    return step


def _overflowing(pixels: Any) -> Any:
    broken = pixels.copy()
    broken[0, 1, 17, 40] = np.nan
    return broken


def _with_text_chunk(file: bytes) -> bytes:
    return file[:33] + b"\0\0\0\0tEXt\xbe\x2e\x1f\x8a" + file[33:]


def _in_half_precision(array: Any) -> Any:
    return array.astype(np.float16)


IMAGE_FAULTS = (
    row("padded-otherwise", *("d00", "state", "tokenizer"), _padded_with(23)),
    row(
        "text-encoder-weight",
        *("d00", "outputs", "numeric-path"),
        _weight("build_text_encoder", "text_encoder.projection"),
    ),
    row(
        "condition-halves-exchanged",
        *("d00", "outputs", "guidance-order"),
        by(
            f"{GUIDANCE}stack_pair", lambda negative, positive: np.concatenate([positive, negative])
        ),
    ),
    row(
        "recorded-in-half-precision",
        *("d00", "outputs", "dtype"),
        by(f"{RUN}record_float32", _in_half_precision),
    ),
    row(
        "seed-off-by-one",
        *("d01", "rng", "seed"),
        changing_arguments(f"{RUN}PhiloxGenerator", lambda seed: (seed + 1,)),
    ),
    row(
        "counter-starts-late",
        *("d01", "rng", "rng-counter"),
        Exchange(f"{RUN}PhiloxGenerator", _one_block_late),
    ),
    row(
        "sine-after-cosine",
        *("d01", "outputs", "permuted"),
        by(f"{PHILOX}box_muller", _sines_last),
    ),
    row(
        "philox-of-seven-rounds",
        *("d01", "outputs", "rng-algorithm"),
        changing_arguments(f"{PHILOX}philox4x32", lambda *args: (*args, 7)),
    ),
    row(
        "noise-scaled",
        *("d01", "outputs", "constant-factor"),
        changing_result(NORMALS, lambda noise: noise * np.float32(14.6)),
    ),
    row("other-spacing", *("d01", "state", "schedule"), spacing="leading"),
    row("three-steps", *("d01", "state", "schedule"), steps=3),
    row(
        "previous-by-the-whole-stride",
        *("d02", "state", "schedule"),
        by(f"{RUN}previous_timesteps", _stride_of_the_whole),
    ),
    row(
        "denoiser-weight",
        *("d02", "outputs", "numeric-path"),
        _weight("build_denoiser", "denoiser.convolution_in.weight"),
    ),
    row(
        "network-told-another-timestep",
        *("d02", "outputs", "numeric-path"),
        changing_arguments(f"{RUN}predict", _one_timestep_late),
    ),
    row(
        "network-told-the-negative-twice",
        *("d02", "outputs", "numeric-path"),
        changing_arguments(f"{RUN}predict", _only_negative),
    ),
    row(
        "prediction-halves-exchanged",
        *("d02", "outputs", "guidance-order"),
        by(f"{GUIDANCE}split_pair", lambda batch: (batch[1:], batch[:1])),
    ),
    row(
        "guided-the-other-way",
        *("d02", "outputs", "guidance-order"),
        changing_arguments(f"{GUIDANCE}guide", lambda n, p, scale: (p, n, scale)),
    ),
    row(
        "guided-with-another-scale",
        *("d02", "outputs", "guidance-scale"),
        changing_arguments(f"{GUIDANCE}guide", lambda n, p, scale: (n, p, scale + 1)),
    ),
    row(
        "taken-for-velocity",
        *("d02", "outputs", "prediction-type"),
        changing_arguments(f"{RUN}update", _as_velocity),
    ),
    row(
        "alpha-bar-of-another-timestep",
        *("d02", "outputs", "schedule"),
        _with_step(lambda step: replace(step, alpha_bar=_bar(949))),
    ),
    row(
        "alpha-bar-of-another-target",
        *("d02", "outputs", "schedule"),
        _with_step(
            lambda step: replace(step, alpha_bar_previous=(step.alpha_bar_previous + 1) / 2)
        ),
    ),
    row(
        "latent-not-handed-on",
        *("d03", "inputs", "input-changed"),
        Exchange(f"{RUN}_ImageRun._denoise_once", _stale),
    ),
    row(
        "noise-drawn-again",
        *("d01", "rng", "rng-counter"),
        Exchange(NORMALS, _not_advancing),
        golden=noisy_picture,
        eta=1.0,
        steps=2,
    ),
    row(
        "noise-of-half-the-strength",
        *("d02", "outputs", "numeric-path"),
        _with_step(lambda step: replace(step, eta=step.eta / 2)),
        golden=noisy_picture,
        eta=1.0,
        steps=2,
    ),
    row(
        "scaling-not-undone",
        *("d06", "outputs", "constant-factor"),
        by(f"{RUN}undo_scaling", lambda latent, factor: latent),
    ),
    row(
        "scaling-undone-twice",
        *("d06", "outputs", "constant-factor"),
        changing_arguments(f"{RUN}undo_scaling", lambda latent, factor: (latent, factor**2)),
    ),
    row(
        "decoder-overflows",
        *("d06", "outputs", "nan-born"),
        changing_result(f"{RUN}decode", _overflowing),
    ),
    row(
        "picture-upside-down",
        *("d06", "outputs", "permuted"),
        changing_result(f"{RUN}decode", lambda pixels: pixels[:, :, ::-1]),
    ),
    row(
        "pixels-in-another-range",
        *("d06", "outputs", "numeric-path"),
        changing_result(f"{RUN}decode", lambda pixels: pixels / 2 + 0.5),
    ),
    row(
        "channels-reversed",
        *("d07", "outputs", "permuted"),
        changing_result(f"{RUN}quantise_pixels", lambda pixels: pixels[:, ::-1]),
    ),
    row(
        "text-chunk-in-the-file",
        *("d07", "choice", "container"),
        changing_result(f"{RUN}encode_png", _with_text_chunk),
    ),
)
