"""Faults in the forward pass of text-001: weights, constants, layers, attention, cache."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from mutants.faulty_runs import Exchange, by, changing_arguments, changing_fields, changing_result
from mutants.text_rows import constants, row, weight, with_element, with_row

from tracediff.engine import kv_cache, layers
from tracediff.engine.kv_cache import LayerCache

DECODER = "tracediff.engine.decoder:"
ATTENTION = "tracediff.engine.attention:"
APPEND = "tracediff.engine.kv_cache:LayerCache.append"
LEDGER = "tracediff.workloads.shape_ledger:"


def _rotated_by_one_more(positions: Any, *sizes: Any) -> tuple[Any, ...]:
    return positions + 1, *sizes


def _keys_unrotated(x: Any, angles: Any, kernel: Any) -> Any:
    return x if x.shape[1] == 1 else layers.rotate(x, angles, kernel)  # one key head, two of query


def _rotated_in_neighbours(x: Any, angles: Any, kernel: Any) -> Any:
    order = np.arange(x.shape[-1]).reshape(-1, 2).T.reshape(-1)
    return layers.rotate(x[..., order], angles, kernel)[..., np.argsort(order)]


def _unscaled(scores: Any) -> Any:
    return scores * np.float32(2.0)  # head size 4


def _window(width: int) -> Callable[[Any], Any]:
    """Return the exchange of attention by one to the last `width` keys."""

    def make(original: Any) -> Any:
        def attend(query: Any, cache: Any, positions: Any, kernel: Any) -> Any:
            scores = original(query, cache, positions, kernel)
            gone = cache.positions[None, :] <= positions[:, None] - width
            return np.where(gone, np.float32(-np.inf), scores)

        return attend

    return make


def _unmasked(original: Any) -> Any:
    def attend(query: Any, cache: Any, positions: Any, kernel: Any) -> Any:
        return original(query, cache, positions + 1000, kernel)

    return attend


def _half_precision_softmax(x: Any, kernel: Any) -> Any:
    return layers.softmax(x, kernel).astype(np.float16).astype(np.float32)


def _rectified(x: Any, kernel: Any) -> Any:
    return np.maximum(x, 0)


def _in_layer(index: int, change: Callable[[Any], Any]) -> Exchange:
    """Return the exchange of what one layer's gated MLP returns, in the prefill only."""

    def make(original: Any) -> Any:
        calls = 0

        def mlp(residual: Any, *rest: Any) -> Any:
            nonlocal calls
            calls += 1
            found = original(residual, *rest)
            return change(found) if calls == index + 1 else found

        return mlp

    return Exchange(f"{DECODER}_gated_mlp", make)


def _swapped_layers(built: Any) -> Any:
    return replace(built, layers=built.layers[::-1])


def _to_bfloat16(array: Any) -> Any:
    return (array.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


# --- cache


def _appended(change: Callable[..., LayerCache]) -> Exchange:
    return Exchange(APPEND, lambda original: lambda *args: change(original, *args))


def _newest_first(original: Any, cache: Any, key: Any, value: Any, positions: Any) -> LayerCache:
    fresh = original(kv_cache.empty_cache(1, 4, cache.key.dtype), key, value, positions)
    return original(fresh, cache.key, cache.value, cache.positions)


def _twice(original: Any, cache: Any, *new: Any) -> LayerCache:
    return original(original(cache, *new), *new)


def _oldest_dropped(original: Any, cache: Any, *new: Any) -> LayerCache:
    if cache.length == 0:
        return original(cache, *new)
    kept = LayerCache(cache.key[:, :, 1:], cache.value[:, :, 1:], cache.positions[1:])
    return original(kept, *new)


def _stale(original: Any, cache: Any, *new: Any) -> LayerCache:
    return original(cache, *new) if cache.length == 0 else cache


def _one_late(original: Any, cache: Any, key: Any, value: Any, positions: Any) -> LayerCache:
    return original(cache, key, value, positions + (cache.length > 0))


def _zero_rows(original: Any, cache: Any, key: Any, value: Any, positions: Any) -> LayerCache:
    return original(cache, key, value * 0, positions)


def _last_overwritten(original: Any, cache: Any, key: Any, *rest: Any) -> LayerCache:
    if cache.length == 0:
        return original(cache, key, *rest)
    old = cache.key.copy()
    old[:, :, -1:] = key
    return original(replace(cache, key=old), key, *rest)


def _layout(found: Any) -> Any:
    return replace(found, embedding=found.embedding[0])


def _recorded_as(change: Callable[[Any], Any]) -> Exchange:
    return by(f"{LEDGER}record_float32", change)


MODEL_FAULTS = (
    row(
        "embedding-row-of-another-token",
        *("e04", "outputs", "numeric-path"),
        weight("embedding", with_row(8, 9)),
    ),
    row(
        "embedding-scaled-by-root-of-width",
        *("e04", "outputs", "constant-factor"),
        weight("embedding", lambda array: array * np.float32(np.sqrt(8))),
    ),
    row(
        "embedding-negated",
        *("e04", "outputs", "constant-factor"),
        weight("embedding", lambda array: -array),
    ),
    row(
        "weights-rounded-to-bfloat16",
        *("e04", "outputs", "numeric-path"),
        weight("embedding", _to_bfloat16),
    ),
    row(
        "one-query-weight",
        *("e04", "outputs", "numeric-path"),
        weight("layers.0.query", with_element((0, 0), 0.5)),
    ),
    row(
        "one-value-weight-of-layer-1",
        *("e04", "outputs", "numeric-path"),
        weight("layers.1.value", with_element((2, 3), -0.5)),
    ),
    row(
        "one-gate-weight-of-layer-1",
        *("e04", "outputs", "numeric-path"),
        weight("layers.1.gate", with_element((0, 0), 2.0)),
    ),
    row(
        "unembedding-row",
        *("e04", "outputs", "numeric-path"),
        weight("unembedding", with_row(14, 15, 1.25)),
    ),
    row("norm-epsilon", *("e04", "outputs", "numeric-path"), constants(norm_epsilon=1e-2)),
    row("rotary-base", *("e04", "outputs", "numeric-path"), constants(rotary_base=500_000.0)),
    row(
        "rotary-position-off-by-one",
        *("e04", "outputs", "numeric-path"),
        changing_arguments(f"{DECODER}rotary_angles", _rotated_by_one_more),
    ),
    row(
        "keys-not-rotated",
        *("e04", "outputs", "numeric-path"),
        by(f"{DECODER}rotate", _keys_unrotated),
    ),
    row(
        "rotary-pairs-neighbours",
        *("e04", "outputs", "numeric-path"),
        by(f"{DECODER}rotate", _rotated_in_neighbours),
    ),
    row(
        "scores-not-scaled",
        *("e04", "outputs", "constant-factor"),
        changing_result(f"{DECODER}attention_scores", _unscaled),
    ),
    row(
        "no-causal-mask",
        *("e04", "outputs", "mask"),
        Exchange(f"{DECODER}attention_scores", _unmasked),
    ),
    row(
        "sliding-window",
        *("e04", "outputs", "mask"),
        Exchange(f"{DECODER}attention_scores", _window(8)),
    ),
    row(
        "query-heads-exchanged",
        *("e04", "outputs", "permuted"),
        changing_result(f"{DECODER}split_heads", lambda heads: heads[:, ::-1]),
    ),
    row(
        "softmax-in-half-precision",
        *("e04", "outputs", "numeric-path"),
        by(f"{ATTENTION}softmax", _half_precision_softmax),
    ),
    row("other-activation", *("e04", "outputs", "numeric-path"), by(f"{DECODER}silu", _rectified)),
    row(
        "gain-of-the-final-norm-left-out",
        *("e04", "outputs", "numeric-path"),
        changing_fields("tracediff.workloads.text:build_decoder", final_norm=None),
    ),
    row(
        "mlp-of-layer-1-left-out",
        *("e04", "outputs", "numeric-path"),
        _in_layer(1, lambda found: found * 0),
    ),
    row(
        "layers-exchanged",
        *("e04", "outputs", "numeric-path"),
        changing_result("tracediff.workloads.text:build_decoder", _swapped_layers),
    ),
    row(
        "nan-at-one-position",
        *("e04", "outputs", "nan-born"),
        _in_layer(1, with_element((0, 3, 2), np.nan)),
    ),
    row(
        "overflow-at-one-position",
        *("e04", "outputs", "infinity-sign"),
        _in_layer(1, with_element((0, 3, 2), np.inf)),
    ),
    row(
        "recorded-in-half-precision",
        *("e04", "outputs", "dtype"),
        _recorded_as(lambda array: array.astype(np.float16)),
    ),
    row(
        "recorded-without-batch-axis",
        *("e04", "outputs", "layout-only"),
        changing_result("tracediff.workloads.text_run:forward", _layout),
    ),
    row("cache-newest-first", *("e08", "outputs", "cache-position"), _appended(_newest_first)),
    row("cache-appended-twice", *("e04", "state", "cache-length"), _appended(_twice)),
    row("cache-drops-the-oldest", *("e08", "state", "cache-length"), _appended(_oldest_dropped)),
    row("cache-not-extended", *("e08", "state", "cache-length"), _appended(_stale)),
    row("cache-position-one-late", *("e08", "outputs", "cache-position"), _appended(_one_late)),
    row("cached-values-zero", *("e04", "outputs", "numeric-path"), _appended(_zero_rows)),
    row(
        "cache-overwrites-the-last-key",
        *("e08", "outputs", "numeric-path"),
        _appended(_last_overwritten),
    ),
)
