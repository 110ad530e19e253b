"""The main line of text-001 against the tables of its definition (chapter 7.2 to 7.5)."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from tracediff.contracts import check_trace
from tracediff.events import Event, Trace
from tracediff.events.structure import check_structure
from tracediff.events.validity import check_payload
from tracediff.recording.sinks import MemorySink
from tracediff.workloads.run import RunRequest, record_fixture, run_fixture

# id, parent, component, event type, logical step; source: chapter 7.3 and 7.4.
EVENTS = [
    ("e00", None, "gateway", "request.accepted", 0),
    ("e01", "e00", "application", "context.rendered", 0),
    ("e02", "e01", "tokenizer", "input.tokenized", 0),
    ("e03", "e02", "scheduler", "prefill.started", 0),
    ("e04", "e03", "model", "prefill.completed", 0),
    ("e05", "e04", "decoder", "token.selected", 1),
    ("e06", "e05", "transport", "stream.delta", 1),
    ("e07", "e05", "scheduler", "decode.started", 1),
    ("e08", "e07", "model", "decode.completed", 1),
    ("e09", "e08", "decoder", "token.selected", 2),
    ("e10", "e09", "transport", "stream.delta", 2),
    ("e11", "e09", "scheduler", "decode.started", 2),
    ("e12", "e11", "model", "decode.completed", 2),
    ("e13", "e12", "decoder", "token.selected", 3),
    ("e14", "e13", "transport", "stream.delta", 3),
    ("e15", "e13", "scheduler", "decode.started", 3),
    ("e16", "e15", "model", "decode.completed", 3),
    ("e17", "e16", "decoder", "token.selected", 4),
    ("e18", "e17", "transport", "stream.delta", 4),
    ("e19", "e17", "scheduler", "decode.started", 4),
    ("e20", "e19", "model", "decode.completed", 4),
    ("e21", "e20", "decoder", "token.selected", 5),
    ("e22", "e21", "decoder", "generation.draining", 5),
    ("e23", "e22", "transport", "response.completed", 5),
    ("e24", "e23", "scheduler", "resources.released", 5),
]

# step, event with the raw logits, selecting event, cache length before, its tokens and logits;
# source: chapter 7.3 (three highest of step 1) and 7.4 (highest of each step).
SELECTIONS = [
    (1, "e04", "e05", 12, {14: 4.20, 15: 3.80, 17: 1.10}),
    (2, "e08", "e09", 13, {15: 5.00}),
    (3, "e12", "e13", 14, {16: 4.70}),
    (4, "e16", "e17", 15, {17: 5.30}),
    (5, "e20", "e21", 16, {18: 6.00}),
]
SELECTION_ROWS = [pytest.param(*row, id=f"step-{row[0]}") for row in SELECTIONS]
PIECES = ["短波蓝光", "的散射", "通常更强", "。"]


@cache
def main_line(kernel: str = "ordered") -> Trace:
    return run_fixture("text-001", kernel=kernel, tensors="values=4096")


def event_of(trace: Trace, event_id: str) -> Event:
    return next(event for event in trace.events if event.event_id == event_id)


def payload_of(event_id: str) -> Any:
    return event_of(main_line(), event_id).payload


def record_of(event: Event, name: str) -> Any:
    records = [*event.payload.get("inputs", ()), *event.payload.get("outputs", ())]
    return next(record for record in records if record["name"] == name)


def values_of(record: Any) -> np.ndarray[Any, Any]:
    return np.array(record["values"], np.float32).reshape(record["shape"])


def test_events_are_the_chapters() -> None:
    """25 events come in the chapter's order, each from its component and caused by its parent."""
    found = [
        (e.event_id, e.parent_event_id, e.component, e.event_type, e.logical_step)
        for e in main_line().events
    ]
    assert found == EVENTS


def test_trace_is_valid_and_keeps_its_contract() -> None:
    """The recorded trace is structurally valid, and no rule on it is broken."""
    trace = main_line()
    check_structure(trace.events)
    for event in trace.events:
        check_payload(event.payload)
    assert check_trace(trace).violations == ()


def test_header() -> None:
    """The root says what was run, and how."""
    assert main_line().header == {
        "format": "tracediff-trace/1",
        "kind": "text",
        "fixture": "text-001",
        "overrides": {},
        "kernel": "ordered",
        "tensors": "values",
    }


def test_request() -> None:
    """e00 holds the request's id, what the model and the tokenizer are, and all settings."""
    payload = payload_of("e00")
    assert payload["ids"] == {"request_id": "req-text-001"}
    assert payload["state"] == {"prompt": "天空为什么是蓝色？"}
    assert {key: payload["artifacts"][key] for key in ("model", "tokenizer", "template")} == {
        "model": "toy-decoder-v1",
        "tokenizer": "toy-tokenizer-v1",
        "template": "toy-template-v1",
    }
    assert payload["artifacts"]["model_weights"].startswith("b3:")
    settings = payload["settings"]
    assert (settings["minimum_output_tokens"], settings["max_output_tokens"]) == (1, 8)
    assert settings["stop_sequences"] == []


def test_rendered_context() -> None:
    """e01 holds the rendered text and its 85 bytes."""
    text = "<bos><system>简洁回答</system><user>天空为什么是蓝色？</user><assistant>"
    assert payload_of("e01")["choice"] == {"text": text, "utf8_bytes": 85}
    assert len(text.encode()) == 85


def test_input() -> None:
    """e02 holds ids, mask and positions of length 12, and e03 the length."""
    assert payload_of("e02")["choice"] == {
        "input_ids": [[1, 2, 7, 3, 4, 8, 9, 10, 11, 12, 5, 6]],
        "attention_mask": [[1] * 12],
        "position_ids": [list(range(12))],
    }
    assert payload_of("e03")["state"] == {"slot": 0, "logical_length": 12}


def expected_ledger(new: int, length: int) -> dict[str, list[int]]:
    """Return the shape ledger of a pass over `new` positions that leaves caches of `length`."""
    ledger = {"embedding": [1, new, 8]}
    for layer in (0, 1):
        ledger |= {
            f"layer.{layer}.residual_in": [1, new, 8],
            f"layer.{layer}.query": [1, 2, new, 4],
            f"layer.{layer}.key": [1, 1, new, 4],
            f"layer.{layer}.value": [1, 1, new, 4],
            f"layer.{layer}.score": [1, 2, new, length],
            f"layer.{layer}.residual_out": [1, new, 8],
            f"layer.{layer}.cache.key": [1, 1, length, 4],
            f"layer.{layer}.cache.value": [1, 1, length, 4],
        }
    return {**ledger, "final_hidden": [1, new, 8], "next_logits": [1, 20]}


@pytest.mark.parametrize(
    ("event_id", "new", "length"),
    [("e04", 12, 12), ("e08", 1, 13), ("e12", 1, 14), ("e16", 1, 15), ("e20", 1, 16)],
)
def test_shape_ledger(event_id: str, new: int, length: int) -> None:
    """Each forward pass records the chapter's shapes in order, and where each tensor sits."""
    payload = payload_of(event_id)
    records = payload["outputs"]
    shapes = expected_ledger(new, length)
    assert [(record["name"], record["shape"]) for record in records] == list(shapes.items())
    assert {record["dtype"] for record in records} == {"float32"}
    for record in records:
        positions = record["logical"]["positions"]
        if ".cache." in record["name"]:
            assert positions == list(range(length))
        elif record["name"] == "next_logits":
            assert positions == [length - 1, length - 1]
        else:
            assert positions == [length - new, length - 1]
        if record["name"].startswith("layer."):
            assert record["logical"]["layer"] == int(record["name"].split(".")[1])
    assert payload["state"]["cache_length_before"] == (0 if new == 12 else length - 1)
    assert payload["state"]["cache_length"] == length


def test_scores_hide_the_future() -> None:
    """In prefill's scores exactly the keys after the query are -inf."""
    for layer in (0, 1):
        score = values_of(record_of(event_of(main_line(), "e04"), f"layer.{layer}.score"))
        future = np.triu(np.ones((12, 12), bool), 1)
        for head in range(2):
            np.testing.assert_array_equal(np.isneginf(score[0, head]), future)


@pytest.mark.parametrize(("step", "passed", "selected", "length", "highest"), SELECTION_ROWS)
def test_logits_of_the_tables(
    step: int, passed: str, selected: str, length: int, highest: dict[int, float]
) -> None:
    """Raw logits are those of the tables within 1e-5, and all others lie below them."""
    logits = values_of(record_of(event_of(main_line(), passed), "next_logits"))[0]
    for token, logit in highest.items():
        assert float(logits[token]) == pytest.approx(logit, abs=1e-5)
    others = [float(logit) for token, logit in enumerate(logits) if token not in highest]
    assert max(others) < min(highest.values()) - 1e-5


@pytest.mark.parametrize(("step", "passed", "selected", "length", "highest"), SELECTION_ROWS)
def test_selection(
    step: int, passed: str, selected: str, length: int, highest: dict[int, float]
) -> None:
    """A selection reads the logits of the pass, masks them, and takes the highest."""
    event = event_of(main_line(), selected)
    (raw,) = event.payload["inputs"]
    source = record_of(event_of(main_line(), passed), "next_logits")
    assert raw["digest"] == source["digest"]
    masked = set(range(7)) | {19} | ({18} if step == 1 else set())
    names = ["logits.control_token_mask", "logits.minimum_length_eos_mask"]
    assert [record["name"] for record in event.payload["outputs"]] == names
    expected = values_of(raw)
    expected[0, list(masked)] = -np.inf
    np.testing.assert_array_equal(values_of(event.payload["outputs"][-1]), expected)
    choice = event.payload["choice"]
    assert (choice["token_id"], choice["strategy"]) == (
        max(highest, key=highest.__getitem__),
        "greedy",
    )
    order = sorted(range(20), key=lambda token: (-expected[0, token], token))
    assert [token for token, _ in choice["top"]] == order[:3]
    # The shortest decimals that give back the float32 values, as everywhere in a trace.
    assert [value for _, value in choice["top"]] == [
        float(str(expected[0, token])) for token in order[:3]
    ]
    assert event.payload["state"] == {
        "cache_length": length,
        "chosen_ids": [14, 15, 16, 17, 18][: step - 1],
    }
    assert "rng" not in event.payload


def test_deltas() -> None:
    """The four ordinary tokens are streamed as sequence 0 to 3."""
    deltas = [e.payload["choice"] for e in main_line().events if e.event_type == "stream.delta"]
    assert deltas == [{"sequence_no": n, "text": piece} for n, piece in enumerate(PIECES)]


def test_decodes() -> None:
    """Each ordinary token is consumed at the position that its cache length gives."""
    started = [e.payload["state"] for e in main_line().events if e.event_type == "decode.started"]
    assert started == [{"token_id": 14 + n, "position": 12 + n} for n in range(4)]


def test_end() -> None:
    """EOS ends it: not displayed, not decoded, in the words of all interfaces."""
    assert payload_of("e22")["choice"] == {"finish_reason": "eos", "stop_sequence": None}
    assert payload_of("e23")["choice"] == {
        "status": "FINISHED",
        "text": "短波蓝光的散射通常更强。",
        "sequence_no": 4,
        "output_tokens_selected": 5,
        "output_tokens_returned": 4,
        "finish_reason": "eos",
        "finish_reason_openai": "stop",
        "finish_reason_anthropic": "end_turn",
    }
    assert payload_of("e24") == {"state": {"cache_final_length": 16}, "end": {"events": 25}}


def test_result_and_stream() -> None:
    """A run returns the text, how it ended and the ids, and streams the pieces as they come."""
    streamed: list[str] = []
    result = record_fixture(RunRequest("text-001"), MemorySink(), streamed.append)
    assert streamed == PIECES
    assert result.headline == "".join(PIECES)
    assert result.facts["selected_ids"] == [14, 15, 16, 17, 18]
