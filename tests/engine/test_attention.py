"""Causal attention of grouped heads against scalar loops in float64, on every numeric path."""

import math

import numpy as np
import pytest

from tracediff.engine.attention import (
    attend,
    attention_scores,
    merge_heads,
    repeat_heads,
    split_heads,
)
from tracediff.engine.kernels import KERNELS, Array, Kernel
from tracediff.engine.kv_cache import LayerCache

EVERY_KERNEL = [pytest.param(kernel, id=name) for name, kernel in KERNELS.items()]
TOLERANCE = {np.dtype(np.float32): 2e-6, np.dtype(np.float64): 1e-14}

# query heads, key/value heads, positions of the queries, positions of the keys
CASES = [
    pytest.param(1, 1, range(5), range(5), id="one-head-prefill"),
    pytest.param(2, 1, range(12), range(12), id="two-to-one-prefill"),
    pytest.param(4, 2, range(5), range(5), id="four-to-two-prefill"),
    pytest.param(4, 4, range(3), range(3), id="no-grouping"),
    pytest.param(2, 1, [12], range(13), id="decode"),
    pytest.param(4, 2, range(6, 9), range(9), id="prefill-after-a-prefix"),
    pytest.param(2, 1, [1, 2], [2, 0, 1], id="keys-in-another-order"),
]
SIZE = 4


def draw(*shape: int, seed: int) -> Array:
    return np.random.Generator(np.random.PCG64(seed)).normal(size=shape).astype(np.float32)


def draw_case(
    kernel: Kernel, query_heads: int, key_value_heads: int, queries: Array, keys: Array
) -> tuple[Array, LayerCache]:
    query = kernel.load(draw(1, query_heads, len(queries), SIZE, seed=21))
    key = kernel.load(draw(1, key_value_heads, len(keys), SIZE, seed=22))
    value = kernel.load(draw(1, key_value_heads, len(keys), SIZE, seed=23))
    return query, LayerCache(key, value, keys)


def scores_slowly(query: Array, cache: LayerCache, positions: Array) -> Array:
    """Return the scores by the definition: query head h reads key head h // group."""
    heads, queries = query.shape[1:3]
    group = heads // cache.key.shape[1]
    scores = np.full((1, heads, queries, cache.length), -np.inf)
    for h, q, k in np.ndindex(heads, queries, cache.length):
        if cache.positions[k] <= positions[q]:
            products = [
                float(query[0, h, q, i]) * float(cache.key[0, h // group, k, i])
                for i in range(SIZE)
            ]
            scores[0, h, q, k] = math.fsum(products) / math.sqrt(SIZE)
    return scores


def attend_slowly(scores: Array, cache: LayerCache) -> Array:
    """Return the values weighted with the softmax of the scores, by the definition."""
    heads, queries = scores.shape[1:3]
    group = heads // cache.value.shape[1]
    result = np.zeros((1, heads, queries, SIZE))
    for h, q in np.ndindex(heads, queries):
        weights = [math.exp(score) for score in scores[0, h, q]]
        for i in range(SIZE):
            values = cache.value[0, h // group, :, i]
            products = [w * float(v) for w, v in zip(weights, values, strict=True)]
            result[0, h, q, i] = math.fsum(products) / math.fsum(weights)
    return result


@pytest.mark.parametrize("kernel", EVERY_KERNEL)
@pytest.mark.parametrize(("query_heads", "key_value_heads", "queries", "keys"), CASES)
def test_scores(
    kernel: Kernel, query_heads: int, key_value_heads: int, queries: range, keys: range
) -> None:
    """Scores are scaled products, and exactly -inf where the key lies after the query."""
    positions = np.array(queries)
    query, cache = draw_case(kernel, query_heads, key_value_heads, positions, np.array(keys))
    scores = attention_scores(query, cache, positions, kernel)
    expected = scores_slowly(query, cache, positions)
    assert scores.dtype == kernel.dtype
    np.testing.assert_array_equal(np.isneginf(scores), np.isneginf(expected))
    tolerance = TOLERANCE[kernel.dtype]
    np.testing.assert_allclose(scores, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kernel", EVERY_KERNEL)
@pytest.mark.parametrize(("query_heads", "key_value_heads", "queries", "keys"), CASES)
def test_attend(
    kernel: Kernel, query_heads: int, key_value_heads: int, queries: range, keys: range
) -> None:
    """The result is the mean of the values, weighted with the softmax of the scores."""
    positions = np.array(queries)
    query, cache = draw_case(kernel, query_heads, key_value_heads, positions, np.array(keys))
    scores = attention_scores(query, cache, positions, kernel)
    mixed = attend(scores, cache, kernel)
    assert mixed.dtype == kernel.dtype
    tolerance = TOLERANCE[kernel.dtype]
    expected = attend_slowly(scores_slowly(query, cache, positions), cache)
    np.testing.assert_allclose(mixed, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kernel", EVERY_KERNEL)
def test_the_first_position_sees_itself_only(kernel: Kernel) -> None:
    """Later keys and values do not reach an earlier position by a single bit."""
    positions = np.arange(4)
    query, cache = draw_case(kernel, 2, 1, positions, positions)
    scores = attention_scores(query, cache, positions, kernel)
    mixed = attend(scores, cache, kernel)
    for head in range(2):
        np.testing.assert_array_equal(mixed[0, head, 0], cache.value[0, 0, 0])
    other = LayerCache(cache.key.copy(), cache.value.copy(), positions)
    other.key[:, :, 2:], other.value[:, :, 2:] = 99, 99
    changed = attend(attention_scores(query, other, positions, kernel), other, kernel)
    np.testing.assert_array_equal(changed[:, :, :2], mixed[:, :, :2])
    assert not np.array_equal(changed[:, :, 2:], mixed[:, :, 2:])


def test_split_heads() -> None:
    """Head h takes the columns h * size to (h + 1) * size of every position."""
    x = draw(2, 3, 8, seed=24)
    heads = split_heads(x, 4)
    assert heads.shape == (2, 4, 3, 2)
    for head in range(4):
        np.testing.assert_array_equal(heads[:, head], x[:, :, 2 * head : 2 * head + 2])


@pytest.mark.parametrize("heads", [1, 2, 8])
def test_merge_heads_undoes_split_heads(heads: int) -> None:
    """Splitting and merging gives back the array."""
    x = draw(2, 3, 8, seed=25)
    np.testing.assert_array_equal(merge_heads(split_heads(x, heads)), x)


def test_repeat_heads() -> None:
    """Neighbouring query heads share one key/value head."""
    x = draw(1, 2, 3, 4, seed=26)
    repeated = repeat_heads(x, 6)
    np.testing.assert_array_equal(repeated, x[:, [0, 0, 0, 1, 1, 1]])
