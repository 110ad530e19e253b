"""Chat completions over HTTP: one document, a stream, and what each says in OpenAI's words."""

from typing import Any

import pytest
from local_server import ANSWER, CHAT, QUESTION, TEXT_MODEL, TOOL_MODEL, chat, post

pytest.importorskip("fastapi", reason="needs the extra serve")
pytest.importorskip("uvicorn", reason="needs the extra serve")
pytestmark = pytest.mark.serve

FLAGS = {
    "type": "object",
    "properties": {"a": {"enum": ["x", "y"]}, "ok": {"type": "boolean"}},
    "required": ["a", "ok"],
}
FLAGGED = '{"a":"y","ok":false}'
TOOL = {"type": "function", "function": {"name": "flag", "parameters": FLAGS}}


def format_(schema: Any, **fields: Any) -> dict[str, Any]:
    """Return a response format of a schema."""
    return {"type": "json_schema", "json_schema": {"name": "f", "schema": schema, **fields}}


def joined(events: list[Any]) -> tuple[str, str | None, str]:
    """Return text, finish reason and tool arguments of a stream's chunks."""
    choices = [choice for event in events if event != "[DONE]" for choice in event["choices"]]
    deltas = [choice["delta"] for choice in choices]
    calls = [call for delta in deltas for call in delta.get("tool_calls", ())]
    (reason,) = (choice["finish_reason"] for choice in choices if choice["finish_reason"])
    return (
        "".join(delta.get("content") or "" for delta in deltas),
        reason,
        "".join(call["function"].get("arguments", "") for call in calls),
    )


# body, text (or arguments), finish reason, completion tokens
ANSWERS = [
    pytest.param(chat(), ANSWER, "stop", 5, id="plain"),
    pytest.param(chat(stop="的散"), "短波蓝光", "stop", 2, id="stop"),
    pytest.param(chat(stop=["x", "光的"]), "短波蓝", "stop", 2, id="stop-across-a-border"),
    pytest.param(chat(max_tokens=2), "短波蓝光的散射", "length", 2, id="max-tokens"),
    pytest.param(chat(max_completion_tokens=1), "短波蓝光", "length", 1, id="max-completion"),
    pytest.param(
        chat(messages=[{"role": "user", "content": [{"type": "text", "text": QUESTION}]}]),
        ANSWER, "stop", 5, id="text-parts",
    ),
    pytest.param(
        chat("hi", TOOL_MODEL, response_format=format_(FLAGS, strict=True)),
        FLAGGED, "stop", 17, id="schema",
    ),
    pytest.param(
        chat("hi", TOOL_MODEL, response_format=format_(FLAGS, strict=True), max_tokens=6),
        FLAGGED[:9], "length", 6, id="schema-cut",
    ),
    pytest.param(
        chat("hi", TOOL_MODEL, tools=[TOOL]), FLAGGED, "tool_calls", 15, id="tool"
    ),
    pytest.param(
        chat("hi", TOOL_MODEL, tools=[TOOL], max_tokens=6), FLAGGED[:10], "length", 6, id="tool-cut"
    ),
]  # fmt: skip


@pytest.mark.parametrize(("body", "text", "reason", "tokens"), ANSWERS)
def test_document_and_stream_agree(
    address: str, body: dict[str, Any], text: str, reason: str, tokens: int
) -> None:
    """The same request gives the same text, reason and usage either way."""
    whole = post(address, CHAT, body)
    assert whole.status == 200, whole.body
    (choice,) = whole.json["choices"]
    calls = choice["message"].get("tool_calls")
    assert (calls[0]["function"]["arguments"] if calls else choice["message"]["content"]) == text
    assert choice["finish_reason"] == reason
    assert whole.json["usage"]["completion_tokens"] == tokens
    options = {"stream": True, "stream_options": {"include_usage": True}}
    events = post(address, CHAT, {**body, **options}).events
    content, finish, arguments = joined(events)
    assert (content or arguments, finish) == (text, reason)
    assert events[-1] == "[DONE]"
    assert events[-2]["choices"] == []
    assert events[-2]["usage"] == whole.json["usage"]


def test_stream_without_usage(address: str) -> None:
    """Usage comes only where it was asked for."""
    events = post(address, CHAT, chat(stream=True)).events
    assert all("usage" not in event for event in events[:-1])
    assert [event["choices"][0]["delta"] for event in events[:-1]] == [
        {"role": "assistant", "content": ""},
        {"content": "短波蓝光"},
        {"content": "的散射"},
        {"content": "通常更强"},
        {"content": "。"},
        {},
    ]


def test_likelihoods(address: str) -> None:
    """Each returned token is told once, with its bytes, streamed or not; the end token is not."""
    body = chat(logprobs=True, top_logprobs=2, stop=["强。"])
    (choice,) = post(address, CHAT, body).json["choices"]
    told = choice["logprobs"]["content"]
    assert [token["token"] for token in told] == ["短波蓝光", "的散射", "通常更强"]
    assert bytes(told[0]["bytes"]).decode() == "短波蓝光"
    assert all(len(token["top_logprobs"]) == 2 for token in told)
    events = post(address, CHAT, {**body, "stream": True}).events
    streamed = [
        token
        for event in events[:-1]
        for token in (event["choices"][0]["logprobs"] or {"content": []})["content"]
    ]
    assert streamed == told


def test_headers(address: str) -> None:
    """Every response carries its request's id, by both vendors' names."""
    first, second = (post(address, CHAT, chat()).headers for _ in range(2))
    assert first["x-request-id"] == first["request-id"] != second["request-id"]


@pytest.mark.parametrize(
    ("body", "status", "field", "code"),
    [
        pytest.param({}, 422, "model", "missing", id="empty"),
        pytest.param(b"{", 422, None, "json_invalid", id="no-json"),
        pytest.param(b"", 422, None, "missing", id="no-body"),
        pytest.param(chat(messages=[]), 422, "messages", "too_short", id="no-messages"),
        pytest.param(
            chat(messages=[{"role": "robot", "content": "x"}]), 422, "messages.0.role",
            "literal_error", id="role",
        ),
        pytest.param(
            chat(messages=[{"role": "user"}]), 422, "messages.0", "value_error", id="no-content"
        ),
        pytest.param(
            chat(messages=[{"role": "user", "content": 1}]), 422, "messages.0.content",
            "string_type", id="content",
        ),
        pytest.param(chat(max_tokens="8"), 422, "max_tokens", "int_type", id="text-for-number"),
        pytest.param(chat(max_tokens=0), 422, "max_tokens", "greater_than_equal", id="zero"),
        pytest.param(chat(temperature=1e-9), 422, "temperature", "value_error", id="temperature"),
        pytest.param(chat(top_k=1), 422, "top_k", "extra_forbidden", id="unknown-field"),
        pytest.param(chat(stop=[""]), 422, "stop.0", "string_too_short", id="empty-stop"),
        pytest.param(chat(top_logprobs=1), 422, None, "value_error", id="pair"),
        pytest.param(chat(model="gpt"), 404, "model", "model_not_found", id="model"),
        pytest.param(chat("hello"), 400, "messages", "not_tokenizable", id="vocabulary"),
        pytest.param(
            chat(max_tokens=53), 400, "max_tokens", "context_length_exceeded", id="budget"
        ),
        pytest.param(chat(tools=[TOOL]), 400, "tools", "unsupported_schema", id="tools"),
    ],
)  # fmt: skip
def test_errors(address: str, body: Any, status: int, field: str | None, code: str) -> None:
    """What is wrong is one error of the vendor's shape, with the field named."""
    found = post(address, CHAT, body)
    assert found.status == status, found.body
    error = found.json["error"]
    assert (error["param"], error["code"]) == (field, code)
    assert error["type"] == "invalid_request_error"
    assert status != 422 or str(field or "") in error["message"]
    assert found.headers["x-request-id"]


def test_history_with_a_tool_result(address: str) -> None:
    """After a tool's result the model answers in text."""
    call = {"id": "c", "type": "function", "function": {"name": "flag", "arguments": FLAGGED}}
    turns = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "ok"},
    ]
    body = chat(model=TOOL_MODEL, messages=turns, tools=[TOOL], max_tokens=3)
    found = post(address, CHAT, body)
    assert found.status == 200, found.body
    assert "tool_calls" not in found.json["choices"][0]["message"]


def test_models(address: str) -> None:
    """The models are listed by the names that requests take."""
    import json
    from urllib.request import urlopen

    with urlopen(f"{address}/v1/models") as response:
        listed = json.load(response)
    assert [model["id"] for model in listed["data"]] == [TEXT_MODEL, TOOL_MODEL]
    with urlopen(f"{address}/healthz") as response:
        assert json.load(response) == {"status": "ok"}
