"""A small network that predicts the noise in a latent: convolution, time, cross-attention.

Knows the forward pass. Must not know schedules, guidance or traces. The arrangement is a small
version of the usual one (Ho et al. 2020, arXiv:2006.11239; Rombach et al. 2022, arXiv:2112.10752).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tracediff.engine.convolution import Convolution, average_pool, convolve, upsample_nearest
from tracediff.engine.cross_attention import (
    CrossAttention,
    attend_to_condition,
    load_cross_attention,
)
from tracediff.engine.kernels import Array, Kernel
from tracediff.engine.layers import linear
from tracediff.engine.residual_block import (
    ResidualBlock,
    load_convolution,
    load_residual_block,
    residual_block,
)
from tracediff.engine.time_embedding import TimeEmbedding, embed_timestep, load_time_embedding

POOLING = 4
"""How much coarser than the latent the middle of the network is."""


@dataclass(frozen=True, slots=True)
class Denoiser:
    """A denoiser ready to run.

    `time_shifts` are matrices [channels, time width], one for each block; `gate_weight` and
    `gate_bias` scale the channels before the last convolution.
    """

    kernel: Kernel
    time: TimeEmbedding
    time_shifts: Mapping[str, Array]
    convolution_in: Convolution
    block_in: ResidualBlock
    middle: ResidualBlock
    up: tuple[Convolution, Convolution]
    attention: CrossAttention
    block_out: ResidualBlock
    gate_weight: Array
    gate_bias: Array
    convolution_out: Convolution


def build_denoiser(heads: int, weights: Mapping[str, Array], kernel: Kernel) -> Denoiser:
    """Return a denoiser from float32 weights whose names start with `denoiser.`."""
    blocks = {
        name: load_residual_block(weights, f"denoiser.{name}", kernel)
        for name in ("block_in", "middle", "block_out")
    }
    return Denoiser(
        kernel=kernel,
        time=load_time_embedding(weights, "denoiser.time", kernel),
        time_shifts={name: kernel.load(weights[f"denoiser.{name}.time_shift"]) for name in blocks},
        convolution_in=load_convolution(weights, "denoiser.convolution_in", kernel),
        **blocks,
        up=(
            load_convolution(weights, "denoiser.up.0", kernel),
            load_convolution(weights, "denoiser.up.1", kernel),
        ),
        attention=load_cross_attention(weights, "denoiser.attention", heads, kernel),
        gate_weight=kernel.load(weights["denoiser.gate.weight"]),
        gate_bias=kernel.load(weights["denoiser.gate.bias"]),
        convolution_out=load_convolution(weights, "denoiser.convolution_out", kernel),
    )


def predict(denoiser: Denoiser, latent: Array, timestep: int, condition: Array) -> Array:
    """Return the predicted noise (or velocity) of latents at one timestep.

    latent [batch, 4, height, width], condition [batch, length, width]; the result has the latent's
    shape. Height and width are multiples of 4. The network adds to the latent: where there is much
    noise, noise is nearly all of it, and what it adds there stays small and precise.
    """
    kernel = denoiser.kernel
    time = embed_timestep(timestep, denoiser.time, kernel)  # [time width]
    shifts = {
        name: linear(time[None], weight, kernel)[0] for name, weight in denoiser.time_shifts.items()
    }
    hidden = convolve(latent, denoiser.convolution_in, kernel)
    hidden = residual_block(hidden, denoiser.block_in, shifts["block_in"], kernel)
    hidden = hidden + _pass_middle(denoiser, hidden, shifts["middle"])
    hidden = attend_to_condition(hidden, condition, denoiser.attention, kernel)
    hidden = residual_block(hidden, denoiser.block_out, shifts["block_out"], kernel)
    gate = linear(time[None], denoiser.gate_weight, kernel)[0] + denoiser.gate_bias
    change = convolve(hidden * gate[:, None, None], denoiser.convolution_out, kernel)
    return latent + change


def _pass_middle(denoiser: Denoiser, hidden: Array, shift: Array) -> Array:
    """Return what a coarser view of the picture contributes, at the picture's own size."""
    kernel = denoiser.kernel
    coarse = average_pool(hidden, POOLING, kernel)
    coarse = residual_block(coarse, denoiser.middle, shift, kernel)
    for convolution in denoiser.up:
        coarse = convolve(upsample_nearest(coarse, 2), convolution, kernel)
    return coarse
