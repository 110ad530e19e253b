"""The events of a recorded answer: their order, their sections, and what is kept out of them."""

import pytest
from streaming.reading import traced
from streaming.wire import call, chat, chunked, event, http, say, usage

from tracediff.streaming.dialects import guess_api

CHAT = chat(
    say("Hé", "llo"),
    call(0, call_id="c", name="f", arguments="{}"),
    usage(3, 2),
    finish="tool_calls",
)


def test_order_of_layers() -> None:
    """Events stand from the lowest layer to the top, each following the one before it."""
    trace = traced(http(CHAT))
    assert [found.event_type for found in trace.events] == [
        *("request.sent", "response.started", "sse.event", "response.identified"),
        *("sse.event", "stream.delta") * 3,
        *("sse.event",) * 3,
        *("body.received", "message.assembled", "message.finished", "usage.reported"),
        "stream.ended",
    ]
    parents = [found.parent_event_id for found in trace.events]
    assert parents == [None, *(found.event_id for found in trace.events[:-1])]
    assert trace.kind == "stream"


def test_lanes() -> None:
    """Every part is a lane with numbers of its own; the first piece of a call names the tool."""
    deltas = [found for found in traced(CHAT).events if found.event_type == "stream.delta"]
    assert [found.payload["lane"]["part"] for found in deltas] == [
        "text 0",
        "text 0",
        "tool_call 0",
    ]
    assert [found.payload["choice"]["sequence_no"] for found in deltas] == [0, 1, 0]
    assert deltas[2].payload["choice"]["tool"] == "f"


def test_what_changes_is_not_compared() -> None:
    """Ids stand in `ids`, times and sizes in `context`, and chunks are the transport's own."""
    padded = CHAT.replace(b'"created": 1', b'"created": 1, "obfuscation": "abc"')
    raw = http(chunked(padded, 100), "Transfer-Encoding: chunked", "X-Request-Id: r1")
    for size in (None, 1, 33):
        trace = traced(raw, size=size)
        found = {e.event_type: e.payload for e in trace.events}
        assert found["response.identified"]["ids"] == {"response_id": "chatcmpl-1"}
        assert found["response.started"]["context"]["request_id"] == "r1"
        body = found["body.received"]
        assert set(body) == {"context"}
        assert body["context"]["created"] == 1
        assert body["context"]["obfuscation"] == 3 * padded.count(b"obfuscation")
        assert body["context"]["bytes"] == len(padded)
        sizes = [size for size, _ in body["context"]["first_chunks"]]
        assert sizes == [100] * (len(padded) // 100) + [len(padded) % 100]


def test_log_probabilities_are_measured_values() -> None:
    """Log-probabilities stand in lists called top, which are compared with a tolerance."""
    rival = {"token": "b", "logprob": -1.5}
    told = {"content": [{"token": "a", "logprob": -0.25, "top_logprobs": [rival]}]}
    trace = traced(chat(event({"choices": [{"delta": {"content": "a"}, "logprobs": told}]})))
    (delta,) = [e for e in trace.events if e.event_type == "stream.delta"]
    assert delta.payload["choice"]["tokens"] == [{"token": "a", "top": [["a", -0.25], ["b", -1.5]]}]


def test_a_text_too_long_for_an_event() -> None:
    """Of a text of more than four million characters the digest stands in the event."""
    trace = traced(chat(say(*["x" * 1_000_000] * 5)))
    (found,) = [e for e in trace.events if e.event_type == "message.assembled"]
    assert found.payload["choice"]["text"]["characters"] == 5_000_000


@pytest.mark.parametrize(
    ("url", "api"),
    [
        pytest.param("https://h/v1/chat/completions", "openai-chat", id="chat"),
        pytest.param("https://h/x/chat/completions/?a=b", "openai-chat", id="query"),
        pytest.param("https://h/v1/responses", "openai-responses", id="responses"),
        pytest.param("https://h/v1/messages", "anthropic-messages", id="messages"),
        pytest.param("https://h/v1/completions", None, id="another"),
        pytest.param("https://h/", None, id="no-path"),
    ],
)
def test_guessed_api(url: str, api: str | None) -> None:
    """The API follows from the end of a URL's path, or it does not."""
    assert guess_api(url) == api
