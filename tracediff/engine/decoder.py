"""A pre-norm decoder: grouped-query attention with rotary positions, gated MLP, unembedding.

Knows the forward pass and keeps every intermediate result of it. Must not know tokens' spelling,
sampling or traces. The architecture is the usual one of Touvron et al. 2023, arXiv:2302.13971.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tracediff.engine.attention import attend, attention_scores, merge_heads, split_heads
from tracediff.engine.kernels import Array, Kernel
from tracediff.engine.kv_cache import LayerCache, empty_cache
from tracediff.engine.layers import linear, rms_norm, rotary_angles, rotate, silu


@dataclass(frozen=True, slots=True)
class DecoderConfig:
    """Sizes and constants of a decoder; `width` is the residual stream's."""

    layers: int
    width: int
    query_heads: int
    key_value_heads: int
    head_size: int
    mlp_width: int
    vocabulary_size: int
    rotary_base: float
    norm_epsilon: float


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """Weights of one layer; matrices are [outputs, inputs], gains [width]."""

    attention_norm: Array
    query: Array
    key: Array
    value: Array
    attention_output: Array
    mlp_norm: Array
    gate: Array
    up: Array
    down: Array


@dataclass(frozen=True, slots=True)
class Decoder:
    """A decoder ready to run: its configuration and weights in a kernel's type.

    `final_norm` is the last norm's gain, None for a norm without gain.
    """

    config: DecoderConfig
    kernel: Kernel
    embedding: Array
    layers: tuple[LayerWeights, ...]
    final_norm: Array | None
    unembedding: Array

    def empty_caches(self) -> tuple[LayerCache, ...]:
        """Return one empty cache a layer."""
        config = self.config
        one = empty_cache(config.key_value_heads, config.head_size, self.kernel.dtype)
        return (one,) * config.layers


@dataclass(frozen=True, slots=True)
class LayerPass:
    """What one layer computed for the new positions, and its cache afterwards.

    residual_in, residual_out [1, n, width]; query [1, query_heads, n, size] and key, value
    [1, key_value_heads, n, size] after rotation; score [1, query_heads, n, length].
    """

    residual_in: Array
    query: Array
    key: Array
    value: Array
    score: Array
    residual_out: Array
    cache: LayerCache


@dataclass(frozen=True, slots=True)
class ForwardPass:
    """All intermediate results of one forward pass over n new positions.

    embedding [1, n, width]; final_hidden [1, n, width] after the last norm; next_logits
    [1, vocabulary_size] of the last position.
    """

    embedding: Array
    layers: tuple[LayerPass, ...]
    final_hidden: Array
    next_logits: Array

    @property
    def caches(self) -> tuple[LayerCache, ...]:
        """The caches after this pass, one a layer."""
        return tuple(layer.cache for layer in self.layers)


def build_decoder(config: DecoderConfig, weights: Mapping[str, Array], kernel: Kernel) -> Decoder:
    """Return a decoder from named float32 weights.

    The names are `embedding`, `final_norm`, `unembedding`, and `layers.N.PART` for LAYER_PARTS;
    without a `final_norm` the last norm has no gain.
    """
    load = {name: kernel.load(array) for name, array in weights.items()}
    layers = tuple(
        LayerWeights(*(load[f"layers.{index}.{part}"] for part in LAYER_PARTS))
        for index in range(config.layers)
    )
    return Decoder(
        config, kernel, load["embedding"], layers, load.get("final_norm"), load["unembedding"]
    )


LAYER_PARTS = (
    "attention_norm",
    "query",
    "key",
    "value",
    "attention_output",
    "mlp_norm",
    "gate",
    "up",
    "down",
)


def forward(decoder: Decoder, tokens: Sequence[int], caches: Sequence[LayerCache]) -> ForwardPass:
    """Run `tokens` at the positions after those in `caches`.

    Returns every intermediate result, the extended caches among them; nothing is changed in place.
    """
    start = caches[0].length
    positions = np.arange(start, start + len(tokens), dtype=np.int64)
    embedding = decoder.embedding[np.asarray(tokens)][None]  # [1, n, width]
    residual = embedding
    passes = []
    for weights, cache in zip(decoder.layers, caches, strict=True):
        layer = _layer_pass(decoder, weights, cache, residual, positions)
        passes.append(layer)
        residual = layer.residual_out
    kernel = decoder.kernel
    hidden = rms_norm(residual, decoder.final_norm, decoder.config.norm_epsilon, kernel)
    logits = linear(hidden[:, -1], decoder.unembedding, kernel)  # [1, vocabulary_size]
    return ForwardPass(embedding, tuple(passes), hidden, logits)


def _layer_pass(
    decoder: Decoder, weights: LayerWeights, cache: LayerCache, residual: Array, positions: Array
) -> LayerPass:
    config, kernel = decoder.config, decoder.kernel
    normed = rms_norm(residual, weights.attention_norm, config.norm_epsilon, kernel)
    angles = rotary_angles(positions, config.head_size, config.rotary_base)
    query = split_heads(linear(normed, weights.query, kernel), config.query_heads)
    key = split_heads(linear(normed, weights.key, kernel), config.key_value_heads)
    value = split_heads(linear(normed, weights.value, kernel), config.key_value_heads)
    query, key = rotate(query, angles, kernel), rotate(key, angles, kernel)
    cache = cache.append(key, value, positions)
    score = attention_scores(query, cache, positions, kernel)
    mixed = merge_heads(attend(score, cache, kernel))  # [1, n, query_heads * size]
    middle = residual + linear(mixed, weights.attention_output, kernel)
    out = middle + _gated_mlp(middle, weights, config.norm_epsilon, kernel)
    return LayerPass(residual, query, key, value, score, out, cache)


def _gated_mlp(residual: Array, weights: LayerWeights, epsilon: float, kernel: Kernel) -> Array:
    """Return down(silu(gate(x)) * up(x)) of the normed residual; Shazeer 2020, arXiv:2002.05202."""
    normed = rms_norm(residual, weights.mlp_norm, epsilon, kernel)
    gate = silu(linear(normed, weights.gate, kernel), kernel)
    return linear(gate * linear(normed, weights.up, kernel), weights.down, kernel)
