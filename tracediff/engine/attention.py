"""Causal attention of grouped query heads over a cache.

Knows one layer's attention only: projections in, weighted values out.
"""

from __future__ import annotations

import math

import numpy as np

from tracediff.engine.kernels import Array, Kernel
from tracediff.engine.kv_cache import LayerCache
from tracediff.engine.layers import softmax


def split_heads(x: Array, heads: int) -> Array:
    """Return [batch, positions, heads * size] as [batch, heads, positions, size]."""
    batch, positions, width = x.shape
    return x.reshape(batch, positions, heads, width // heads).transpose(0, 2, 1, 3)


def merge_heads(x: Array) -> Array:
    """Return [batch, heads, positions, size] as [batch, positions, heads * size]."""
    batch, heads, positions, size = x.shape
    return x.transpose(0, 2, 1, 3).reshape(batch, positions, heads * size)


def attention_scores(query: Array, cache: LayerCache, positions: Array, kernel: Kernel) -> Array:
    """Return query . key / sqrt(size), -inf where a key lies after the query.

    `query` [batch, query_heads, queries, size]; result [batch, query_heads, queries, length].
    Each key/value head serves query_heads / key_value_heads neighbouring query heads.
    """
    keys = repeat_heads(cache.key, query.shape[1])  # [batch, query_heads, length, size]
    scale = kernel.dtype.type(1.0 / math.sqrt(query.shape[-1]))
    scores = kernel.matmul(query, keys.transpose(0, 1, 3, 2)) * scale
    later = cache.positions[None, :] > positions[:, None]  # [queries, length]
    masked: Array = np.where(later, kernel.dtype.type(-np.inf), scores)
    return masked


def attend(scores: Array, cache: LayerCache, kernel: Kernel) -> Array:
    """Return softmax(scores) @ values: [batch, query_heads, queries, size]."""
    values = repeat_heads(cache.value, scores.shape[1])
    return kernel.matmul(softmax(scores, kernel), values)


def repeat_heads(x: Array, query_heads: int) -> Array:
    """Return x [batch, key_value_heads, length, size] repeated to `query_heads` heads."""
    return np.repeat(x, query_heads // x.shape[1], axis=1)
