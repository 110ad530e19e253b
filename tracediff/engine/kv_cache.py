"""The key/value cache of one layer, with the position of every entry.

A cache is a value: appending returns a new one, so a recorded cache never changes afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tracediff.engine.kernels import Array


@dataclass(frozen=True, slots=True)
class LayerCache:
    """Keys and values [batch, key_value_heads, length, head_size] and their positions [length]."""

    key: Array
    value: Array
    positions: Array

    @property
    def length(self) -> int:
        """Number of cached positions."""
        return int(self.positions.shape[0])

    def append(self, key: Array, value: Array, positions: Array) -> LayerCache:
        """Return the cache with the entries of `positions` added at the end."""
        return LayerCache(
            np.concatenate([self.key, key], axis=2),
            np.concatenate([self.value, value], axis=2),
            np.concatenate([self.positions, positions]),
        )


def empty_cache(heads: int, head_size: int, dtype: np.dtype[Any]) -> LayerCache:
    """Return a cache of length 0 for one batch row."""
    nothing = np.zeros((1, heads, 0, head_size), dtype)
    return LayerCache(nothing, nothing, np.zeros(0, np.int64))
