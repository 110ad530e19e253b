"""The cache of keys and values: it grows at the end, keeps positions, and is a value."""

import dataclasses

import numpy as np
import pytest

from tracediff.engine.kernels import Array
from tracediff.engine.kv_cache import LayerCache, empty_cache


def draw(*shape: int, seed: int = 5) -> Array:
    return np.random.Generator(np.random.PCG64(seed)).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("heads", "head_size"), [(1, 4), (2, 8)])
def test_empty_cache(dtype: type, heads: int, head_size: int) -> None:
    """An empty cache has length 0 and the shapes that entries are added to."""
    cache = empty_cache(heads, head_size, np.dtype(dtype))
    assert cache.length == 0
    assert cache.key.shape == cache.value.shape == (1, heads, 0, head_size)
    assert cache.key.dtype == cache.value.dtype == dtype
    assert (cache.positions.shape, cache.positions.dtype) == ((0,), np.int64)


@pytest.mark.parametrize("lengths", [(5,), (3, 1, 1), (1,) * 4], ids=["once", "prompt", "single"])
def test_append_adds_at_the_end(lengths: tuple[int, ...]) -> None:
    """Entries come after those that are there, with their positions."""
    total = sum(lengths)
    key, value = draw(1, 2, total, 4), draw(1, 2, total, 4, seed=6)
    cache, start = empty_cache(2, 4, np.dtype(np.float32)), 0
    for length in lengths:
        span = slice(start, start + length)
        positions = np.arange(start, start + length)
        cache = cache.append(key[:, :, span], value[:, :, span], positions)
        start += length
        assert cache.length == start
    np.testing.assert_array_equal(cache.key, key)
    np.testing.assert_array_equal(cache.value, value)
    np.testing.assert_array_equal(cache.positions, np.arange(total))


def test_cache_is_a_value() -> None:
    """Appending leaves the cache as it was, and neither shares memory with the other."""
    key, value = draw(1, 1, 3, 4), draw(1, 1, 3, 4, seed=6)
    before = empty_cache(1, 4, np.dtype(np.float32)).append(key, value, np.arange(3))
    after = before.append(draw(1, 1, 1, 4, seed=7), draw(1, 1, 1, 4, seed=8), np.array([3]))
    assert (before.length, after.length) == (3, 4)
    np.testing.assert_array_equal(before.key, key)
    for name in ("key", "value", "positions"):
        assert not np.shares_memory(getattr(before, name), getattr(after, name))
    key[:] = 0
    assert before.key.all()


def test_cache_cannot_be_changed() -> None:
    """A field of a cache cannot be assigned."""
    cache: LayerCache = empty_cache(1, 4, np.dtype(np.float32))
    with pytest.raises(dataclasses.FrozenInstanceError):
        cache.key = cache.value  # type: ignore[misc]
