"""A timestep as a vector: sines and cosines of it, then a small network.

Knows one timestep at a time. Must not know schedules, models or traces.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tracediff.engine.kernels import Array, Kernel
from tracediff.engine.layers import linear, rotary_angles, silu

LONGEST_PERIOD = 10_000.0


@dataclass(frozen=True, slots=True)
class TimeEmbedding:
    """Weights of the network: `weight` [width, features], `bias` [width]."""

    weight: Array
    bias: Array


def load_time_embedding(weights: Mapping[str, Array], name: str, kernel: Kernel) -> TimeEmbedding:
    """Return the embedding whose weights are called `name`.weight and `name`.bias."""
    return TimeEmbedding(
        kernel.load(weights[f"{name}.weight"]), kernel.load(weights[f"{name}.bias"])
    )


def embed_timestep(timestep: int, embedding: TimeEmbedding, kernel: Kernel) -> Array:
    """Return silu(weight @ features + bias), [width].

    The features are the sines, then the cosines of timestep / 10000^(2i / features) for ascending
    i (Vaswani et al. 2017, arXiv:1706.03762). The angles are part of the model's definition, so
    all kernels share them.
    """
    angles = rotary_angles(np.array([timestep]), embedding.weight.shape[1], LONGEST_PERIOD)
    waves = np.concatenate([kernel.sin(angles), kernel.cos(angles)], axis=1).astype(kernel.dtype)
    return silu(linear(waves, embedding.weight, kernel)[0] + embedding.bias, kernel)
