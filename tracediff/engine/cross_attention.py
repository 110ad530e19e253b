"""Attention of pixels to a condition: where in the picture each word acts.

Knows one attention: pixels in, pixels out. Must not know the rest of the denoiser or traces.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tracediff.engine.attention import merge_heads, split_heads
from tracediff.engine.kernels import Array, Kernel
from tracediff.engine.layers import linear, softmax
from tracediff.engine.residual_block import channel_norm


@dataclass(frozen=True, slots=True)
class CrossAttention:
    """Weights of a cross-attention.

    norm [channels]; query [heads * size, channels]; position [heads * size, height, width], a
    learned query of every place; key and value [heads * size, condition_width]; output
    [channels, heads * size].
    """

    heads: int
    norm: Array
    query: Array
    position: Array
    key: Array
    value: Array
    output: Array


def load_cross_attention(
    weights: Mapping[str, Array], name: str, heads: int, kernel: Kernel
) -> CrossAttention:
    """Return the attention whose weights are called `name`.norm, `name`.query and so on."""
    parts = ("norm", "query", "position", "key", "value", "output")
    return CrossAttention(heads, *(kernel.load(weights[f"{name}.{part}"]) for part in parts))


def attend_to_condition(
    x: Array, condition: Array, attention: CrossAttention, kernel: Kernel
) -> Array:
    """Return x + output(softmax(query . key / sqrt(size)) value), pixel by pixel.

    x [batch, channels, height, width], condition [batch, length, condition_width]. A pixel's query
    is made of its normed channels and of its place.
    """
    batch, channels, height, width = x.shape
    normed = channel_norm(x, attention.norm, kernel)
    pixels = normed.reshape(batch, channels, height * width)
    queries = kernel.matmul(attention.query, pixels)  # [batch, heads * size, pixels]
    queries = queries + attention.position.reshape(-1, height * width)
    query = split_heads(np.swapaxes(queries, 1, 2), attention.heads)  # [batch, heads, pixels, size]
    key = split_heads(linear(condition, attention.key, kernel), attention.heads)
    value = split_heads(linear(condition, attention.value, kernel), attention.heads)
    scale = kernel.dtype.type(1.0 / math.sqrt(query.shape[-1]))
    scores = (
        kernel.matmul(query, key.transpose(0, 1, 3, 2)) * scale
    )  # [batch, heads, pixels, length]
    mixed = merge_heads(kernel.matmul(softmax(scores, kernel), value))
    mixed = kernel.matmul(attention.output, np.swapaxes(mixed, 1, 2))  # [batch, channels, pixels]
    return x + mixed.reshape(x.shape)
