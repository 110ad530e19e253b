"""Previews: a linear mapping from channels to colours."""

import numpy as np

from tracediff.engine.philox import PhiloxGenerator
from tracediff.engine.preview import preview_colours


def test_colours_are_sums_over_channels() -> None:
    """Each colour is the sum of channels times their factors."""
    latent = PhiloxGenerator(1).normals(2 * 4 * 3 * 5).reshape(2, 4, 3, 5)
    factors = PhiloxGenerator(2).normals(12).reshape(4, 3).astype(np.float64)
    expected = np.einsum("bcyx,ck->bkyx", latent.astype(np.float64), factors)
    np.testing.assert_allclose(preview_colours(latent, factors), expected, atol=1e-14)
