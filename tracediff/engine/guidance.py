"""Classifier-free guidance: two predictions become one.

Knows the order of the two halves of a batch and the formula. Must not know networks or traces.
"""

from __future__ import annotations

import numpy as np

from tracediff.engine.elementwise import unify_nan
from tracediff.engine.kernels import Array

ORDER = ("negative", "positive")
"""Which half of the batch is which."""


def stack_pair(negative: Array, positive: Array) -> Array:
    """Return [1, ...] and [1, ...] as [2, ...] in the declared order."""
    return np.concatenate([negative, positive])


def split_pair(batch: Array) -> tuple[Array, Array]:
    """Return the negative and the positive half [1, ...] of [2, ...]."""
    return batch[:1], batch[1:]


def guide(negative: Array, positive: Array, scale: float) -> Array:
    """Return negative + scale (positive - negative), in float64 and rounded once to their type.

    Ho and Salimans 2022, arXiv:2207.12598, in the form in which 1 leaves the positive as it is.
    """
    base = negative.astype(np.float64)
    guided = base + scale * (positive.astype(np.float64) - base)
    unify_nan(guided)
    return guided.astype(negative.dtype)
