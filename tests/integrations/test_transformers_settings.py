"""Settings, reasons and names in the words of text traces."""

from types import SimpleNamespace
from typing import Any

import pytest

from tracediff.engine.stopping import FinishReason
from tracediff.integrations.transformers_settings import (
    ids_of,
    names_of,
    reason_of,
    settings_of,
    stops_of,
)

UNSET = {
    **dict.fromkeys(("min_new_tokens", "min_length", "stop_strings", "eos_token_id")),
    **dict.fromkeys(("repetition_penalty", "temperature", "top_k", "top_p")),
    **{"max_length": 20, "use_cache": True, "do_sample": False},
}


def config(**options: Any) -> SimpleNamespace:
    return SimpleNamespace(**{**UNSET, **options})


def classes(*names: str) -> list[Any]:
    return [type(name, (), {})() for name in names]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({}, {"max_output_tokens": 12, "temperature": 0.0}, id="greedy"),
        pytest.param({"min_length": 10}, {"minimum_output_tokens": 2}, id="minimum-with-prompt"),
        pytest.param({"min_new_tokens": 3}, {"minimum_output_tokens": 3}, id="minimum"),
        pytest.param({"top_k": 50, "temperature": 0.7}, {"top_k": 0, "temperature": 0.0}, id="off"),
        pytest.param(
            {"do_sample": True, "top_k": 50, "top_p": 0.9},
            {"top_k": 50, "top_p": 0.9, "temperature": 1.0, "seed": 4},
            id="sampled",
        ),
        pytest.param(
            {"stop_strings": "x", "eos_token_id": [3, 2]},
            {"stop_sequences": ["x"], "eos_token_ids": [2, 3]},
            id="ends",
        ),
    ],
)
def test_settings(options: dict[str, Any], expected: dict[str, Any]) -> None:
    """A prompt of 8 ids with padding, at most 20 in all; what is off reads as off."""
    found = settings_of(config(**options), 8, seed=4)
    assert expected.items() <= found.items()
    assert ("seed" in found) is bool(options.get("do_sample"))


def test_processors_have_names() -> None:
    """A class gives the name; a second one of a class is told apart."""
    made = classes("TopKLogitsWarper", "MinNewTokensLengthLogitsProcessor", "TopKLogitsWarper")
    assert names_of(made) == ["top_k", "min_new_tokens_length", "top_k.2"]
    assert names_of(classes("LogitNormalization", "HQQProcessor")) == [
        *("logit_normalization", "hqq"),
    ]


@pytest.mark.parametrize(
    ("criteria", "reason"),
    [
        pytest.param(["max_length", "eos_token"], FinishReason.EOS, id="end-at-the-limit"),
        pytest.param(["max_length", "stop_string"], FinishReason.STOP_SEQUENCE, id="stop"),
        pytest.param(["max_length"], FinishReason.MAX_TOKENS, id="limit"),
        pytest.param(["max_time"], "max_time", id="another"),
    ],
)
def test_reason(criteria: list[str], reason: FinishReason | str) -> None:
    """What the text ends with comes before what cuts it off."""
    assert reason_of(criteria) == reason


def test_ids_and_stops() -> None:
    """None, one and several are all understood."""
    assert [ids_of(None), ids_of(3), ids_of([3, 4])] == [set(), {3}, {3, 4}]
    stops = [stops_of(config(stop_strings=found)) for found in (None, "a", ["a", "b"])]
    assert stops == [[], ["a"], ["a", "b"]]
