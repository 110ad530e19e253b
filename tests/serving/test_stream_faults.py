"""Faults as a client meets them, in both shapes."""

from typing import Any

import pytest
from local_server import ANSWER, CHAT, MESSAGES, chat, message, post, serving

pytest.importorskip("fastapi", reason="needs the extra serve")
pytest.importorskip("uvicorn", reason="needs the extra serve")
pytestmark = pytest.mark.serve

BOTH = [
    pytest.param(CHAT, chat(stream=True), id="openai"),
    pytest.param(MESSAGES, message(stream=True), id="anthropic"),
]


def texts(events: list[Any]) -> list[str]:
    """Return the pieces of text that a stream brought, in either shape."""
    found = []
    for event in events:
        if isinstance(event, str):
            continue
        for choice in event.get("choices", ()):
            found.append(choice["delta"].get("content") or "")
        if event.get("type") == "content_block_delta":
            found.append(event["delta"]["text"])
    return [text for text in found if text]


@pytest.mark.parametrize(("path", "body"), BOTH)
def test_rate_limit(address: str, path: str, body: Any) -> None:
    """429 says after how long to try again."""
    found = post(address, path, body, "rate-limit")
    assert (found.status, found.headers["retry-after"]) == (429, "1")
    assert found.json["error"]["type"] == "rate_limit_error"


@pytest.mark.parametrize(("path", "body"), BOTH)
def test_server_error(address: str, path: str, body: Any) -> None:
    """500 is an error document."""
    found = post(address, path, body, "server-error")
    assert found.status == 500
    assert found.json["error"]["type"] in ("server_error", "api_error")


@pytest.mark.parametrize(("path", "body"), BOTH)
@pytest.mark.parametrize("number", [1, 3])
def test_error_after_200(address: str, path: str, body: Any, number: int) -> None:
    """After so many deltas comes an error, and nothing after it."""
    found = post(address, path, body, f"error-after:{number}")
    assert found.status == 200
    assert found.is_whole
    assert len(texts(found.events)) == number
    assert "error" in found.events[-1]


@pytest.mark.parametrize(("path", "body"), BOTH)
@pytest.mark.parametrize("number", [1, 3])
def test_dropped_connection(address: str, path: str, body: Any, number: int) -> None:
    """After so many deltas the response breaks off without its end."""
    found = post(address, path, body, f"drop-after:{number}")
    assert not found.is_whole
    assert len(texts(found.events)) == number


@pytest.mark.parametrize(("path", "body"), BOTH)
def test_chunks_end_inside_characters(address: str, path: str, body: Any) -> None:
    """No chunk with Chinese text is UTF-8 by itself; all together they are the stream."""
    found = post(address, path, body, "split-utf8")
    broken = 0
    for chunk in found.chunks:
        try:
            chunk.decode()
        except UnicodeDecodeError:
            broken += 1
    assert broken >= 8
    assert "".join(texts(found.events)) == ANSWER


@pytest.mark.parametrize(("path", "body"), BOTH)
def test_duplicate_finish(address: str, path: str, body: Any) -> None:
    """The reason comes twice, the text once."""
    found = post(address, path, body, "duplicate-finish").body.decode()
    assert found.count('_reason":"stop"') + found.count('_reason":"end_turn"') == 2
    assert found.count("短波蓝光") == 1


@pytest.mark.parametrize(("path", "body"), BOTH)
def test_missing_terminator(address: str, path: str, body: Any) -> None:
    """The stream ends as HTTP does, without the vendor's own end."""
    found = post(address, path, body, "missing-terminator")
    assert found.is_whole
    assert "".join(texts(found.events)) == ANSWER
    assert b"[DONE]" not in found.body
    assert b"message_stop" not in found.body


def test_usage_is_no_terminator(address: str) -> None:
    """A missing terminator takes nothing but itself away."""
    body = chat(stream=True, stream_options={"include_usage": True})
    found = post(address, CHAT, body, "missing-terminator")
    assert b'"usage":{' in found.body.replace(b": ", b":")
    assert b"[DONE]" not in found.body


@pytest.mark.parametrize(
    ("fault", "path", "body", "reason"),
    [
        pytest.param("refusal", CHAT, chat(), "stop", id="openai-refusal"),
        pytest.param("refusal", MESSAGES, message(), "refusal", id="anthropic-refusal"),
        pytest.param("content-filter", CHAT, chat(), "content_filter", id="openai-filter"),
        pytest.param("content-filter", MESSAGES, message(), "refusal", id="anthropic-filter"),
    ],
)
def test_answers_that_are_refused(
    address: str, fault: str, path: str, body: Any, reason: str
) -> None:
    """A refusal has no content of the model; a filter leaves what came before it."""
    found = post(address, path, body, fault).json
    is_filter = fault == "content-filter"
    if path == MESSAGES:
        assert found["stop_reason"] == reason
        assert found["content"] == ([{"type": "text", "text": "短波蓝光"}] if is_filter else [])
        return
    (choice,) = found["choices"]
    assert choice["finish_reason"] == reason
    assert choice["message"]["content"] == ("短波蓝光" if is_filter else None)
    assert (choice["message"]["refusal"] is None) == is_filter


def test_refusal_in_a_stream(address: str) -> None:
    """OpenAI's shape tells a refusal apart from content."""
    events = post(address, CHAT, chat(stream=True), "refusal").events
    deltas = [event["choices"][0]["delta"] for event in events[:-1]]
    assert [delta for delta in deltas if "refusal" in delta] == [deltas[1]]


def test_header_is_refused_unless_allowed() -> None:
    """A request cannot make a server fail that did not allow it."""
    with serving() as address:
        found = post(address, CHAT, chat(), "drop-after:1")
        assert found.status == 400
        assert "--allow-faults" in found.json["error"]["message"]
        assert found.headers["x-request-id"]


def test_faults_of_the_server() -> None:
    """A server started with counted faults recovers: a client that tries again gets its answer."""
    from tracediff.serving.faults import parse_faults

    with serving(faults=parse_faults(["rate-limit:2"])) as address:
        statuses = [post(address, CHAT, chat()).status for _ in range(3)]
    assert statuses == [429, 429, 200]
