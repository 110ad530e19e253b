"""What the other settings of text-001 change: cache, processors, prompt, and all together."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from text_runs import deltas, logits_after, of_type, run, selected

from tracediff.contracts import check_trace
from tracediff.engine.kernels import KERNELS
from tracediff.errors import IllegalState
from tracediff.events.structure import check_structure
from tracediff.events.validity import check_payload

FULL_TEXT = "短波蓝光的散射通常更强。"


@pytest.mark.parametrize("kernel", ["ordered", "float64"])
def test_without_cache_everything_is_the_same(kernel: str) -> None:
    """Recomputing all positions at every step gives the same events, bit for bit."""
    cached, recomputed = run({}, kernel), run({"kv_cache": False}, kernel)
    assert recomputed.root.payload["settings"]["kv_cache"] is False
    assert recomputed.events[1:] == cached.events[1:]


def test_without_cache_the_blas_path_stays_close() -> None:
    """BLAS sums one row and twelve differently: the bits move, tokens and tolerance hold."""
    cached, recomputed = run({}, "blas"), run({"kv_cache": False}, "blas")
    assert selected(recomputed) == selected(cached)
    for left, right in zip(cached.events, recomputed.events, strict=True):
        for a, b in zip(
            left.payload.get("inputs", ()), right.payload.get("inputs", ()), strict=True
        ):
            left_values, right_values = np.array(a["values"], float), np.array(b["values"], float)
            np.testing.assert_allclose(left_values, right_values, rtol=1.3e-6, atol=1e-5)


@pytest.mark.parametrize(
    ("overrides", "names"),
    [
        pytest.param({}, [], id="all-off"),
        pytest.param({"temperature": 0, "top_k": 0, "top_p": 1}, [], id="off-by-integers"),
        pytest.param({"grammar": [FULL_TEXT]}, ["grammar_mask"], id="grammar"),
        pytest.param({"repetition_penalty": 1.5}, ["repetition_transforms"], id="repetition"),
        pytest.param({"temperature": 0.7}, ["temperature"], id="temperature"),
        pytest.param({"top_k": 3}, ["top_k"], id="top-k"),
        pytest.param({"top_p": 0.5}, ["top_p"], id="top-p"),
        pytest.param(
            {
                "top_p": 0.9,
                "top_k": 5,
                "temperature": 0.5,
                "repetition_penalty": 1.1,
                "grammar": [FULL_TEXT],
            },
            ["grammar_mask", "repetition_transforms", "temperature", "top_k", "top_p"],
            id="all-on",
        ),
    ],
)
def test_processors_come_in_the_chapters_order(overrides: dict[str, Any], names: list[str]) -> None:
    """Masks, grammar, repetition, temperature, truncation: those that are on, in this order."""
    always = ["control_token_mask", "minimum_length_eos_mask"]
    for event in of_type(run(overrides), "token.selected"):
        found = [record["name"] for record in event.payload["outputs"]]
        assert found == [f"logits.{name}" for name in (*always, *names)]


@pytest.mark.parametrize(
    ("grammar", "ids"),
    [
        pytest.param(["短波蓝光。"], [14, 17, 18], id="one-output"),
        pytest.param(["大气"], [13, 18], id="against-the-model"),
        pytest.param(["大气", "的散射", "通常更强"], [15, 18], id="the-model-chooses"),
        pytest.param(["短波蓝光", "短波蓝光的散射"], [14, 15, 18], id="common-prefix"),
        # After 14 the model wants 15, which only the output that was not begun has there.
        pytest.param(["短波蓝光。", "大气的散射"], [14, 17, 18], id="not-another-outputs-token"),
    ],
)
def test_grammar(grammar: list[str], ids: list[int]) -> None:
    """Only listed outputs come out; among them the model's logits decide."""
    trace = run({"grammar": grammar})
    assert selected(trace) == ids
    assert "".join(deltas(trace)) in grammar
    for event in of_type(trace, "token.selected"):
        before = logits_after(event, "minimum_length_eos_mask")
        after = logits_after(event, "grammar_mask")
        assert all(new in (old, -np.inf) for old, new in zip(before, after, strict=True))


def test_grammar_that_leaves_nothing() -> None:
    """A grammar that ends before the minimum length leaves no token, which is an error."""
    with pytest.raises(IllegalState, match="forbid every one of them"):
        run({"grammar": ["大气"], "minimum_output_tokens": 2})


def test_repetition_penalty() -> None:
    """Logits of ids seen in prompt or output are divided or multiplied, others stay."""
    prompt = [1, 2, 7, 3, 4, 8, 9, 10, 11, 12, 5, 6]
    trace = run({"repetition_penalty": 2.0, "max_output_tokens": 4})
    for event in of_type(trace, "token.selected"):
        seen = {*prompt, *event.payload["state"]["chosen_ids"]}
        before = logits_after(event, "minimum_length_eos_mask")
        after = logits_after(event, "repetition_transforms")
        for token, (old, new) in enumerate(zip(before, after, strict=True)):
            factor = (0.5 if old > 0 else 2.0) if token in seen else 1.0
            assert new == pytest.approx(old * factor, rel=1e-6)


@pytest.mark.parametrize("prompt", ["天空", "是？", "为什么是蓝色", "短波蓝光的散射。"])
def test_other_prompts(prompt: str) -> None:
    """Any prompt of the vocabulary's pieces runs and keeps the general contract."""
    trace = run({"prompt": prompt})
    rendered = of_type(trace, "context.rendered")[0].payload["choice"]
    text = f"<bos><system>简洁回答</system><user>{prompt}</user><assistant>"
    assert rendered == {"text": text, "utf8_bytes": len(text.encode())}
    assert check_trace(trace).violations == ()


def test_overrides_are_recorded() -> None:
    """The header lists what was overridden, in the definition's order, and settings hold all."""
    trace = run({"seed": 5, "max_output_tokens": 2, "stop_sequences": ["x"]})
    assert list(trace.header["overrides"].items()) == [
        ("max_output_tokens", 2),
        ("stop_sequences", ["x"]),
        ("seed", 5),
    ]
    found = trace.root.payload["settings"]
    assert (found["seed"], found["max_output_tokens"], found["temperature"]) == (5, 2, 0.0)


OVERRIDES = st.fixed_dictionaries(
    {},
    optional={
        "prompt": st.sampled_from(["天空为什么是蓝色？", "天空", "蓝色是？" * 5]),
        "minimum_output_tokens": st.integers(0, 4),
        "max_output_tokens": st.integers(1, 9),
        "stop_sequences": st.lists(
            st.sampled_from(["。", "光的", "射通常更强。", "x"]), max_size=2
        ),
        "context_window": st.integers(30, 40),
        "repetition_penalty": st.floats(0.01, 100),
        "temperature": st.one_of(st.just(0), st.floats(1e-6, 100)),
        "top_k": st.integers(0, 25),
        "top_p": st.floats(1e-9, 1),
        "seed": st.integers(0, 2**64 - 1),
        "kv_cache": st.booleans(),
    },
)


@pytest.mark.parametrize("kernel", KERNELS)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(overrides=OVERRIDES)
def test_contract_holds_under_any_overrides(kernel: str, overrides: dict[str, Any]) -> None:
    """Whatever is allowed runs, and gives a valid trace that keeps the contract."""
    trace = run(overrides, kernel)
    check_structure(trace.events)
    for event in trace.events:
        check_payload(event.payload)
    assert check_trace(trace).violations == ()
    (completed,) = of_type(trace, "response.completed")
    assert completed.payload["choice"]["text"] == "".join(deltas(trace))
