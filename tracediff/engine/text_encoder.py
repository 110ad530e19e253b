"""A bidirectional transformer that turns token ids into a condition for the denoiser.

Knows the forward pass. Must not know tokens' spelling, padding rules or traces.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tracediff.engine.attention import merge_heads, split_heads
from tracediff.engine.kernels import Array, Kernel
from tracediff.engine.layers import linear, rms_norm, silu, softmax


@dataclass(frozen=True, slots=True)
class TextEncoderConfig:
    """Sizes and constants of a text encoder; `width` is the residual stream's."""

    layers: int
    width: int
    heads: int
    mlp_width: int
    output_width: int
    length: int
    vocabulary_size: int
    norm_epsilon: float


@dataclass(frozen=True, slots=True)
class EncoderLayer:
    """Weights of one layer; matrices are [outputs, inputs], gains [width]."""

    attention_norm: Array
    query: Array
    key: Array
    value: Array
    attention_output: Array
    mlp_norm: Array
    up: Array
    down: Array


LAYER_PARTS = tuple(EncoderLayer.__dataclass_fields__)


@dataclass(frozen=True, slots=True)
class TextEncoder:
    """A text encoder ready to run: configuration and weights in a kernel's type."""

    config: TextEncoderConfig
    kernel: Kernel
    embedding: Array
    position: Array
    layers: tuple[EncoderLayer, ...]
    final_norm: Array
    projection: Array


def build_text_encoder(
    config: TextEncoderConfig, weights: Mapping[str, Array], kernel: Kernel
) -> TextEncoder:
    """Return an encoder from float32 weights whose names start with `text_encoder.`."""

    def load(name: str) -> Array:
        return kernel.load(weights[f"text_encoder.{name}"])

    layers = tuple(
        EncoderLayer(*(load(f"layers.{index}.{part}") for part in LAYER_PARTS))
        for index in range(config.layers)
    )
    return TextEncoder(
        config,
        kernel,
        load("embedding"),
        load("position"),
        layers,
        load("final_norm"),
        load("projection"),
    )


def encode_text(encoder: TextEncoder, ids: Sequence[int]) -> Array:
    """Return the embedding [1, length, output_width] of `length` token ids.

    Every position sees every other one; padding is a token like any other.
    """
    kernel, epsilon = encoder.kernel, encoder.config.norm_epsilon
    hidden = (encoder.embedding[np.asarray(ids)] + encoder.position)[None]  # [1, length, width]
    for layer in encoder.layers:
        normed = rms_norm(hidden, layer.attention_norm, epsilon, kernel)
        hidden = hidden + _attend(normed, layer, encoder)
        normed = rms_norm(hidden, layer.mlp_norm, epsilon, kernel)
        raised = silu(linear(normed, layer.up, kernel), kernel)  # [1, length, mlp_width]
        hidden = hidden + linear(raised, layer.down, kernel)
    normed = rms_norm(hidden, encoder.final_norm, epsilon, kernel)
    return linear(normed, encoder.projection, kernel)


def _attend(normed: Array, layer: EncoderLayer, encoder: TextEncoder) -> Array:
    kernel, heads = encoder.kernel, encoder.config.heads
    query, key, value = (
        split_heads(linear(normed, weight, kernel), heads)  # [1, heads, length, size]
        for weight in (layer.query, layer.key, layer.value)
    )
    scale = kernel.dtype.type(1.0 / math.sqrt(query.shape[-1]))
    scores = kernel.matmul(query, key.transpose(0, 1, 3, 2)) * scale  # [1, heads, length, length]
    mixed = merge_heads(kernel.matmul(softmax(scores, kernel), value))
    return linear(mixed, layer.attention_output, kernel)
