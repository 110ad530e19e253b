"""Which tensors of a decoder's forward pass a trace keeps, and what they are called.

Knows forward passes and the recorder's tensors. Must not know tokens or events.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracediff.engine.decoder import ForwardPass
from tracediff.engine.kernels import record_float32
from tracediff.engine.kv_cache import LayerCache
from tracediff.recording.recordable import Tensor


def last_positions(passed: ForwardPass, count: int) -> ForwardPass:
    """Return the part of a full recomputation that a cached pass over the last `count` computes."""
    return ForwardPass(
        embedding=passed.embedding[:, -count:],
        layers=tuple(
            type(layer)(
                residual_in=layer.residual_in[:, -count:],
                query=layer.query[:, :, -count:],
                key=layer.key[:, :, -count:],
                value=layer.value[:, :, -count:],
                score=layer.score[:, :, -count:],
                residual_out=layer.residual_out[:, -count:],
                cache=layer.cache,
            )
            for layer in passed.layers
        ),
        final_hidden=passed.final_hidden[:, -count:],
        next_logits=passed.next_logits,
    )


def shape_ledger(passed: ForwardPass, positions: Sequence[int]) -> dict[str, Tensor]:
    """Return every tensor of a forward pass in the order in which it was computed."""
    span = {"positions": [positions[0], positions[-1]]}
    ledger = {"embedding": Tensor(record_float32(passed.embedding), span)}
    for index, layer in enumerate(passed.layers):
        at = {"layer": index, **span}
        for name in ("residual_in", "query", "key", "value", "score", "residual_out"):
            ledger[f"layer.{index}.{name}"] = Tensor(record_float32(getattr(layer, name)), at)
        ledger.update(_cache_tensors(index, layer.cache))
    ledger["final_hidden"] = Tensor(record_float32(passed.final_hidden), span)
    ledger["next_logits"] = Tensor(
        record_float32(passed.next_logits), {"positions": [positions[-1], positions[-1]]}
    )
    return ledger


def _cache_tensors(index: int, cache: LayerCache) -> dict[str, Tensor]:
    at = {"layer": index, "positions": [int(position) for position in cache.positions]}
    return {
        f"layer.{index}.cache.key": Tensor(record_float32(cache.key), at),
        f"layer.{index}.cache.value": Tensor(record_float32(cache.value), at),
    }
