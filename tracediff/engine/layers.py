"""The building blocks of the networks, written once over a kernel's primitives.

Knows formulas and shapes. Must not know models, weights by name, or traces.
"""

from __future__ import annotations

import numpy as np

from tracediff.engine import elementary
from tracediff.engine.kernels import Array, Kernel


def rms_norm(x: Array, gain: Array | None, epsilon: float, kernel: Kernel) -> Array:
    """Return x / sqrt(mean(x^2) + epsilon) * gain over the last axis.

    `x` [..., width], `gain` [width] or None for no gain. Zhang and Sennrich 2019, arXiv:1910.07467.
    """
    mean_square = kernel.total(x * x) / kernel.dtype.type(x.shape[-1])
    normed: Array = x / np.sqrt(mean_square + kernel.dtype.type(epsilon))
    return normed if gain is None else normed * gain


def softmax(x: Array, kernel: Kernel) -> Array:
    """Return exp(x - max) / sum over the last axis; -inf entries get weight 0."""
    weights = kernel.exp(x - x.max(axis=-1, keepdims=True))
    return weights / kernel.total(weights)


def silu(x: Array, kernel: Kernel) -> Array:
    """Return x / (1 + exp(-x)), elementwise."""
    result: Array = x / (kernel.dtype.type(1) + kernel.exp(-x))
    return result


def linear(x: Array, weight: Array, kernel: Kernel) -> Array:
    """Return x @ weight.T for x [..., inputs] and weight [outputs, inputs]."""
    return kernel.matmul(x, weight.T)


def rotary_angles(positions: Array, head_size: int, base: float) -> Array:
    """Return position * base^(-2i / head_size) as float64 [positions, head_size / 2].

    Su et al. 2021, arXiv:2104.09864. The angles are part of the model's definition, so all
    kernels share them; only their sines and cosines belong to the numeric path.
    """
    exponents = np.arange(head_size // 2, dtype=np.float64) * (-2.0 / head_size)
    frequencies = elementary.power(base, exponents)
    return positions.astype(np.float64)[:, None] * frequencies[None, :]


def rotate(x: Array, angles: Array, kernel: Kernel) -> Array:
    """Rotate the halves (x1, x2) of the last axis to (x1 cos - x2 sin, x2 cos + x1 sin).

    `x` [batch, heads, positions, head_size], `angles` float64 [positions, head_size / 2].
    """
    sine, cosine = kernel.sin(angles), kernel.cos(angles)
    sine, cosine = sine.astype(kernel.dtype), cosine.astype(kernel.dtype)
    half = x.shape[-1] // 2
    first, second = x[..., :half], x[..., half:]
    return np.concatenate([first * cosine - second * sine, second * cosine + first * sine], axis=-1)
