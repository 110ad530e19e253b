"""Two-dimensional convolution, pooling and upsampling over a kernel's primitives.

Knows images as [batch, channels, height, width] and how to cut them so that working memory stays
small. Must not know models or traces.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from tracediff.engine.kernels import Array, Kernel

STRIP = 8192
"""Pixels that are convolved at a time: few enough that their products stay in a fast cache."""


@dataclass(frozen=True, slots=True)
class Convolution:
    """Weights of one convolution: `weight` [outputs, inputs, size, size], odd size; `bias`."""

    weight: Array
    bias: Array


def convolve(x: Array, convolution: Convolution, kernel: Kernel) -> Array:
    """Return the convolution of x with zeros around it: the same height and width.

    x [batch, inputs, height, width] gives [batch, outputs, height, width]. Each output is the sum
    over (input, row, column) of the weight, in this order, then the bias. No flip of the weight:
    cross-correlation, as networks take it.
    """
    batch, inputs, height, width = x.shape
    outputs, _, size, _ = convolution.weight.shape
    padded = np.pad(x, ((0, 0), (0, 0), (size // 2, size // 2), (size // 2, size // 2)))
    windows = sliding_window_view(padded, (size, size), axis=(2, 3))
    weight = convolution.weight.reshape(outputs, inputs * size * size)
    bias = convolution.bias[:, None]
    result = np.empty((batch, outputs, height, width), x.dtype)
    rows = max(1, STRIP // (batch * width))
    for top in range(0, height, rows):
        strip = windows[:, :, top : top + rows].transpose(0, 1, 4, 5, 2, 3)
        taps = strip.reshape(batch, inputs * size * size, -1)  # [batch, taps, pixels]
        summed = kernel.matmul(weight, taps) + bias  # [batch, outputs, pixels]
        result[:, :, top : top + rows] = summed.reshape(batch, outputs, -1, width)
    return result


def average_pool(x: Array, factor: int, kernel: Kernel) -> Array:
    """Return the mean of each factor x factor square; height and width are multiples of it."""
    batch, channels, height, width = x.shape
    squares = x.reshape(batch, channels, height // factor, factor, width // factor, factor)
    squares = squares.transpose(
        0, 1, 2, 4, 3, 5
    )  # [batch, channels, rows, columns, factor, factor]
    members = squares.reshape(*squares.shape[:4], factor * factor)
    means: Array = kernel.total(members) / kernel.dtype.type(factor * factor)
    return means[..., 0]


def upsample_nearest(x: Array, factor: int) -> Array:
    """Return x with each pixel repeated to a factor x factor square."""
    return x.repeat(factor, axis=2).repeat(factor, axis=3)
