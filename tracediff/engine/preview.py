"""A quick small picture of a latent, without the decoder.

Knows one linear mapping. Must not know which factors suit which decoder.
"""

from __future__ import annotations

import numpy as np

from tracediff.engine.kernels import Array


def preview_colours(latent: Array, factors: Array) -> Array:
    """Return the colours that a latent roughly stands for: about -1 to 1, one pixel an element.

    latent [batch, channels, height, width], factors [channels, 3]; result float64 [batch, 3,
    height, width], the sum over channels by ascending index of channel times factor.
    """
    numbers = latent.astype(np.float64)
    batch, _, height, width = numbers.shape
    colours = np.zeros((batch, 3, height, width))
    for channel, channel_factors in enumerate(factors):
        colours += numbers[:, channel : channel + 1] * channel_factors[:, None, None]
    return colours
