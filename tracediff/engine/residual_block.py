"""The residual block that denoiser and decoder are made of.

Knows norm, activation, convolution and an optional shift. Must not know whole models or traces.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tracediff.engine.convolution import Convolution, convolve
from tracediff.engine.kernels import Array, Kernel
from tracediff.engine.layers import rms_norm, silu

NORM_EPSILON = 1e-6


@dataclass(frozen=True, slots=True)
class ResidualBlock:
    """Weights of one block; gains [channels], convolutions that keep the number of channels."""

    first_norm: Array
    first: Convolution
    second_norm: Array
    second: Convolution


def load_convolution(weights: Mapping[str, Array], name: str, kernel: Kernel) -> Convolution:
    """Return the convolution `name`.weight, `name`.bias in the kernel's type."""
    return Convolution(kernel.load(weights[f"{name}.weight"]), kernel.load(weights[f"{name}.bias"]))


def load_residual_block(weights: Mapping[str, Array], name: str, kernel: Kernel) -> ResidualBlock:
    """Return the block of the weights `name`.first_norm, `name`.first.weight and so on."""
    return ResidualBlock(
        kernel.load(weights[f"{name}.first_norm"]),
        load_convolution(weights, f"{name}.first", kernel),
        kernel.load(weights[f"{name}.second_norm"]),
        load_convolution(weights, f"{name}.second", kernel),
    )


def channel_norm(x: Array, gain: Array, kernel: Kernel) -> Array:
    """Return x / sqrt(mean over channels of x^2 + epsilon) * gain, for each pixel on its own.

    x [batch, channels, height, width], gain [channels]: the RMS norm of every pixel's channels.
    """
    normed = rms_norm(np.moveaxis(x, 1, -1), gain, NORM_EPSILON, kernel)
    return np.moveaxis(normed, -1, 1)


def residual_block(x: Array, block: ResidualBlock, shift: Array | None, kernel: Kernel) -> Array:
    """Return x + second(silu(norm(first(silu(norm(x))) + shift))).

    x [batch, channels, height, width]; `shift` [channels] or None (He et al. 2016,
    arXiv:1603.05027, with the time shift of Ho et al. 2020, arXiv:2006.11239).
    """
    hidden = convolve(silu(channel_norm(x, block.first_norm, kernel), kernel), block.first, kernel)
    if shift is not None:
        hidden = hidden + shift[:, None, None]
    activated = silu(channel_norm(hidden, block.second_norm, kernel), kernel)
    return x + convolve(activated, block.second, kernel)
