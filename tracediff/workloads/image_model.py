"""The parts of a latent-diffusion fixture, built from its definition in one kernel.

Knows the definition's names and the engine's parts. Must not know a run or a recorder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracediff.engine.denoiser import Denoiser, build_denoiser
from tracediff.engine.kernels import Array, Kernel
from tracediff.engine.noise_schedule import NoiseSchedule
from tracediff.engine.text_encoder import TextEncoder, TextEncoderConfig, build_text_encoder
from tracediff.engine.tokenizer import Segment, Tokenizer
from tracediff.engine.vae import VaeDecoder, build_vae_decoder
from tracediff.errors import UsageError
from tracediff.workloads.definitions import Definition


@dataclass(frozen=True, slots=True)
class ImageModel:
    """Everything that turns words and noise into a picture."""

    kernel: Kernel
    text_encoder: TextEncoder
    denoiser: Denoiser
    schedule: NoiseSchedule
    vae: VaeDecoder
    latent_shape: tuple[int, ...]
    preview_factors: Array


def build_image_model(definition: Definition, kernel: Kernel) -> ImageModel:
    """Return the model of a definition; weights are read once."""
    content, weights = definition.content, definition.weights
    scheduler = content["scheduler"]
    return ImageModel(
        kernel,
        build_text_encoder(text_encoder_config(content), weights, kernel),
        build_denoiser(content["denoiser"]["heads"], weights, kernel),
        NoiseSchedule(scheduler["first_beta"], scheduler["last_beta"], scheduler["training_steps"]),
        build_vae_decoder(weights, kernel),
        tuple(content["latent_shape"]),
        np.array(content["vae"]["preview_factors"], np.float64),
    )


def text_encoder_config(content: Mapping[str, Any]) -> TextEncoderConfig:
    """Return the text encoder's sizes from a definition's content."""
    encoder, tokenizer = content["text_encoder"], content["tokenizer"]
    return TextEncoderConfig(
        layers=encoder["layers"],
        width=encoder["width"],
        heads=encoder["heads"],
        mlp_width=encoder["mlp_width"],
        output_width=encoder["output_width"],
        length=tokenizer["length"],
        vocabulary_size=len(tokenizer["pieces"]),
        norm_epsilon=encoder["norm_epsilon"],
    )


def tokenize_padded(content: Mapping[str, Any], key: str, words: str) -> list[int]:
    """Return the ids of a prompt, padded to the encoder's length.

    Raises TokenizerError where the vocabulary does not cover it, UsageError naming the setting
    `key` where it is too long.
    """
    tokenizer = content["tokenizer"]
    pieces = {int(token): piece for token, piece in tokenizer["pieces"].items()}
    ids = Tokenizer(pieces, [tokenizer["pad_id"]]).encode([Segment(words)])
    length = tokenizer["length"]
    if len(ids) > length:
        raise UsageError(f"{key} has {len(ids)} tokens; allowed are at most {length}")
    return ids + [tokenizer["pad_id"]] * (length - len(ids))
