"""Sampling in text-001: one recorded draw a selection, from which the token can be replayed."""

import numpy as np
import pytest
from text_runs import logits_after, of_type, run, selected

from tracediff.engine.philox import philox4x32

SAMPLED = {"temperature": 0.7, "seed": 1}


def test_sampling_records_its_draws() -> None:
    """Every selection draws one number from one block of its own, and the record says so."""
    selections = of_type(run(SAMPLED), "token.selected")
    assert len(selections) > 2
    for counter, event in enumerate(selections):
        assert event.payload["rng"] == [
            {
                "generator": "sampling",
                "algorithm": "Philox4x32-10",
                "key": [1, 0],
                "counter_before": counter,
                "counter_after": counter + 1,
                "draws": {"count": 1, "shape": [1]},
                "transform": "inverse-cdf-v1",
            }
        ]
        assert event.payload["choice"]["strategy"] == "sampled"


@pytest.mark.parametrize("seed", [0, 1, 7, 2**32, 2**64 - 1])
def test_sampled_tokens_can_be_replayed(seed: int) -> None:
    """From what is recorded alone, the draw and the processed logits, each token follows."""
    trace = run({"temperature": 2.5, "seed": seed})
    for event in of_type(trace, "token.selected"):
        (draw,) = event.payload["rng"]
        assert draw["key"] == [seed % 2**32, seed >> 32]
        counter = np.array([draw["counter_before"], 0, 0, 0], np.uint32)
        word = int(philox4x32(counter, np.array(draw["key"], np.uint32))[0])
        weights = np.exp(logits_after(event, "temperature").astype(np.float64))
        cumulative = np.cumsum(weights / weights.sum())
        token = int(np.searchsorted(cumulative, (word + 0.5) / 2**32))
        assert event.payload["choice"]["token_id"] == token


def test_sampling_is_reproducible() -> None:
    """The same seed gives the same events; another one another key and, here, other tokens."""
    assert run(SAMPLED).events == run(SAMPLED).events
    other = run({**SAMPLED, "seed": 2})
    assert of_type(other, "token.selected")[0].payload["rng"][0]["key"] == [2, 0]
    assert selected(other) != selected(run(SAMPLED))


def test_temperature_divides_the_masked_logits() -> None:
    """The temperature's logits are the ones before it, divided, in float32."""
    for event in of_type(run(SAMPLED), "token.selected"):
        before = logits_after(event, "minimum_length_eos_mask")
        after = logits_after(event, "temperature")
        np.testing.assert_array_equal(after, before / np.float32(0.7))
