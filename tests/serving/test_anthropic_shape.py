"""Messages over HTTP: one document, a stream, and what each says in Anthropic's words."""

from typing import Any

import pytest
from local_server import ANSWER, MESSAGES, QUESTION, TOOL_MODEL, message, post

pytest.importorskip("fastapi", reason="needs the extra serve")
pytest.importorskip("uvicorn", reason="needs the extra serve")
pytestmark = pytest.mark.serve

FLAGS = {
    "type": "object",
    "properties": {"a": {"enum": ["x", "y"]}, "ok": {"type": "boolean"}},
    "required": ["a", "ok"],
}
FLAGGED = {"a": "y", "ok": False}
TOOL = {"name": "flag", "input_schema": FLAGS}
PART = {"type": "text", "text": QUESTION}

# body, text, stop reason, stop sequence, output tokens
ANSWERS = [
    pytest.param(message(), ANSWER, "end_turn", None, 5, id="plain"),
    pytest.param(
        message(messages=[{"role": "user", "content": [PART]}]), ANSWER, "end_turn", None, 5,
        id="blocks",
    ),
    pytest.param(
        message(stop_sequences=["光的"]), "短波蓝", "stop_sequence", "光的", 2, id="stop-sequence"
    ),
    pytest.param(message(max_tokens=2), "短波蓝光的散射", "max_tokens", None, 2, id="max-tokens"),
    pytest.param(message(system="大气"), ANSWER, "end_turn", None, 5, id="system"),
    pytest.param(message(temperature=0.5, top_k=1), ANSWER, "end_turn", None, 5, id="top-k"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "text", "reason", "stop", "tokens"), ANSWERS)
def test_document_and_stream_agree(
    address: str, body: dict[str, Any], text: str, reason: str, stop: str | None, tokens: int
) -> None:
    """The same request gives the same text, reason and usage either way."""
    whole = post(address, MESSAGES, body)
    assert whole.status == 200, whole.body
    assert whole.json["content"] == [{"type": "text", "text": text}]
    ending = {"stop_reason": reason, "stop_sequence": stop}
    assert {key: whole.json[key] for key in ending} == ending
    assert whole.json["usage"] == {
        "input_tokens": 12,
        "output_tokens": tokens,
    }
    events = post(address, MESSAGES, {**body, "stream": True}).events
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    assert "".join(delta["text"] for delta in deltas) == text
    (told,) = (event for event in events if event["type"] == "message_delta")
    assert (told["delta"], told["usage"]) == (ending, {"output_tokens": tokens})
    assert events[-1] == {"type": "message_stop"}


def test_order_of_events(address: str) -> None:
    """A stream opens, adds and closes in this order, each event named by its type."""
    found = post(address, MESSAGES, message(stream=True, max_tokens=1))
    types = [event["type"] for event in found.events]
    assert types == [
        "message_start",
        "content_block_start",
        "ping",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    names = [line for line in found.body.decode().split("\n") if line.startswith("event: ")]
    assert names == [f"event: {kind}" for kind in types]
    assert found.events[0]["message"]["usage"] == {"input_tokens": 12, "output_tokens": 0}


def test_tool_use(address: str) -> None:
    """A tool is used with arguments that are its schema's, streamed as parts of JSON."""
    import json

    body = message("hi", TOOL_MODEL, tools=[TOOL], max_tokens=40)
    whole = post(address, MESSAGES, body).json
    assert whole["stop_reason"] == "tool_use"
    (block,) = whole["content"]
    assert (block["type"], block["name"], block["input"]) == ("tool_use", "flag", FLAGGED)
    events = post(address, MESSAGES, {**body, "stream": True}).events
    parts = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    assert json.loads("".join(part["partial_json"] for part in parts)) == FLAGGED


def test_arguments_that_were_cut_off_are_no_input(address: str) -> None:
    """What max_tokens cuts in the middle is told as cut, and never as a smaller input."""
    body = message("hi", TOOL_MODEL, tools=[TOOL], max_tokens=5)
    found = post(address, MESSAGES, body).json
    assert found["stop_reason"] == "max_tokens"
    assert found["content"][0]["input"] == {}


def test_answer_after_a_tool_result(address: str) -> None:
    """With the result the model answers in text."""
    use = {"type": "tool_use", "id": "t", "name": "flag", "input": FLAGGED}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "ok"}
    turns = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result]},
    ]
    body = message(model=TOOL_MODEL, messages=turns, tools=[TOOL], max_tokens=3)
    found = post(address, MESSAGES, body)
    assert found.status == 200, found.body
    assert [block["type"] for block in found.json["content"]] == ["text"]


@pytest.mark.parametrize(
    ("body", "status", "kind", "words"),
    [
        pytest.param({}, 422, "invalid_request_error", "model: Field required", id="empty"),
        pytest.param(
            message(max_tokens=None), 422, "invalid_request_error", "max_tokens:", id="max-tokens"
        ),
        pytest.param(
            message(messages=[{"role": "user", "content": [{"type": "tool_use"}]}]), 422,
            "invalid_request_error", "needs id", id="block",
        ),
        pytest.param(
            message(tools=[TOOL], tool_choice={"type": "tool"}), 422, "invalid_request_error",
            "tool_choice: name belongs to the type tool", id="tool-choice",
        ),
        pytest.param(message(model="x"), 404, "not_found_error", "there is no model", id="model"),
        pytest.param(
            message(max_tokens=60), 400, "invalid_request_error", "prompt is too long", id="budget"
        ),
    ],
)  # fmt: skip
def test_errors(address: str, body: Any, status: int, kind: str, words: str) -> None:
    """What is wrong is one error of the vendor's shape, with the request's id."""
    found = post(address, MESSAGES, body)
    assert found.status == status, found.body
    assert found.json["type"] == "error"
    assert found.json["error"]["type"] == kind
    assert words in found.json["error"]["message"]
    assert found.json["request_id"] == found.headers["request-id"]
