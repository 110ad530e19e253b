"""The decoder half of a variational autoencoder: a latent becomes a picture eight times as large.

Knows the scaling of latents and the forward pass. Must not know files, pixels as integers or
traces.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tracediff.engine.convolution import Convolution, convolve, upsample_nearest
from tracediff.engine.kernels import Array, Kernel
from tracediff.engine.layers import silu
from tracediff.engine.residual_block import (
    ResidualBlock,
    load_convolution,
    load_residual_block,
    residual_block,
)

UPSAMPLINGS = 3


@dataclass(frozen=True, slots=True)
class VaeDecoder:
    """A decoder ready to run; one convolution follows each doubling of height and width."""

    kernel: Kernel
    convolution_in: Convolution
    block: ResidualBlock
    up: tuple[Convolution, ...]
    hidden: Convolution
    convolution_out: Convolution


def build_vae_decoder(weights: Mapping[str, Array], kernel: Kernel) -> VaeDecoder:
    """Return a decoder from float32 weights whose names start with `vae.`."""
    return VaeDecoder(
        kernel,
        load_convolution(weights, "vae.convolution_in", kernel),
        load_residual_block(weights, "vae.block", kernel),
        tuple(load_convolution(weights, f"vae.up.{index}", kernel) for index in range(UPSAMPLINGS)),
        load_convolution(weights, "vae.hidden", kernel),
        load_convolution(weights, "vae.convolution_out", kernel),
    )


def undo_scaling(latent: Array, factor: float) -> Array:
    """Return latent / factor, in float64 and rounded once to its type."""
    return (latent.astype(np.float64) / factor).astype(latent.dtype)


def decode(decoder: VaeDecoder, scaled: Array) -> Array:
    """Return the picture of an unscaled latent: about -1 (black) to 1 (white), not clipped.

    scaled [batch, 4, height, width] gives [batch, 3, 8 height, 8 width].
    """
    kernel = decoder.kernel
    hidden = convolve(scaled, decoder.convolution_in, kernel)
    hidden = residual_block(hidden, decoder.block, None, kernel)
    for convolution in decoder.up:
        hidden = convolve(upsample_nearest(hidden, 2), convolution, kernel)
    hidden = silu(convolve(hidden, decoder.hidden, kernel), kernel)
    return convolve(hidden, decoder.convolution_out, kernel)
