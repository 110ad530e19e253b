"""Pairs of captures that a server tells otherwise in one place, and which are never equal.

A second list holds what servers tell otherwise each time: that is no difference.
"""

from typing import Any

from streaming.other_rows import only_at_the_end, response, told_otherwise
from streaming.wire import (
    DONE,
    Responses,
    block,
    call,
    chat,
    chunk,
    event,
    http,
    message,
    say,
    typed,
)

CHAT, MESSAGES, RESPONSES = "openai-chat", "anthropic-messages", "openai-responses"


def with_bytes(text: bytes) -> bytes:
    """Return a chat completion with these bytes in its text."""
    return chat(say("H@")).replace(b"H@", b"H" + text)


def chunk_of(**facts: Any) -> bytes:
    """Return a chat completion in which one chunk has further entries beside its choices."""
    return chat(chunk({"content": "a"}, **facts))


def call_of(**facts: Any) -> bytes:
    """Return a chat completion with a call that has further entries."""
    fragment = {"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}, **facts}
    return chat(chunk({"tool_calls": [fragment]}), finish="tool_calls")


def custom(text: str) -> bytes:
    """Return a chat completion with a call whose input is free text."""
    fragment = {"index": 0, "id": "c", "type": "custom", "custom": {"name": "f", "input": text}}
    return chat(chunk({"tool_calls": [fragment]}), finish="tool_calls")


def tokens(logprob: float) -> list[Any]:
    """Return the log-probabilities of one token."""
    return [{"token": "a", "logprob": logprob, "bytes": [97], "top_logprobs": []}]


def delta_with(logprob: float) -> bytes:
    """Return a response whose delta has log-probabilities."""
    told = Responses()
    place = {"output_index": 0, "content_index": 0, "logprobs": tokens(logprob)}
    told.write(0, type="output_text", text="a", logprobs=tokens(logprob))
    return told.whole(
        told.created(),
        told.say("output_text.delta", **place, delta="a"),
        told.say("output_text.done", **place, text="a"),
    )


def final_with(logprob: float) -> bytes:
    """Return a response that tells log-probabilities in its last event alone."""
    told = Responses()
    parts = told.created() + told.text("a")
    told.write(0, type="output_text", text="a", logprobs=tokens(logprob))
    return told.whole(parts)


def item_with(**facts: Any) -> bytes:
    """Return a response whose only item has further entries."""
    told = Responses()
    parts = told.created() + told.text("a")
    told.items[0] |= facts
    return told.whole(parts)


def final_text(text: str) -> bytes:
    """Return a response that calls its text otherwise in the end."""
    told = Responses()
    parts = told.created() + told.text("a")
    told.write(0, type="output_text", text=text)
    return told.whole(parts)


def delta_event(**facts: Any) -> bytes:
    """Return a message whose last event but one has further entries."""
    end = typed("message_delta", delta={"stop_reason": "end_turn"}, usage={}, **facts)
    start, *_ = message().partition(b"event: message_delta")
    return start + end + typed("message_stop")


def searched(query: str) -> bytes:
    """Return a message in which the server's own tool was used."""
    use = block(
        0, "server_tool_use", '{"query":', f'"{query}"}}', name="web_search", id="s", input={}
    )
    return message(use, block(1, "text", "a"))


# name, API, left, right
UNEQUAL = [
    ("invalid-bytes", CHAT, with_bytes(b"\xff\xfe"), with_bytes(b"\xfe\xf8")),
    ("invalid-bytes-and-a-mark", CHAT, with_bytes(b"\xff"), with_bytes("\ufffd".encode())),
    ("invalid-bytes-and-escapes", CHAT, with_bytes(b"\xff"), with_bytes(b"\\udcff")),
    (
        "invalid-bytes-in-two-places",
        CHAT,
        chat(say("@", "%")).replace(b"@", b"\xff").replace(b"%", b"\\udcff"),
        chat(say("@", "%")).replace(b"%", b"\xff").replace(b"@", b"\\udcff"),
    ),
    ("data-that-is-no-json", CHAT, chat(event("oops")), chat(event("oopz"))),
    ("data-that-is-a-list", CHAT, chat(event("[1]")), chat(event("[2]"))),
    ("lines-that-are-ignored", CHAT, chat(say("a"), b"x: 1\n\n"), chat(say("a"), b"x: 2\n\n")),
    ("data-behind-the-end", CHAT, chat() + say("a"), chat() + say("b")),
    ("entry-of-a-chunk", CHAT, chunk_of(provider="x"), chunk_of(provider="y")),
    ("entry-of-one-side", CHAT, chunk_of(prompt_token_ids=[1, 2]), chunk_of()),
    ("object", CHAT, chunk_of(object="text_completion"), chunk_of()),
    ("role-of-another-form", CHAT, chat(chunk({"role": 7})), chat()),
    ("type-of-a-call", CHAT, call_of(type="custom"), call_of(type="function")),
    ("entry-of-a-call", CHAT, call_of(extra=1), call_of()),
    ("input-of-a-custom-call", CHAT, custom("x"), custom("y")),
    (
        "arguments-as-an-object",
        CHAT,
        chat(call(0, call_id="c", name="f", arguments={"a": 1}), finish="tool_calls"),
        chat(call(0, call_id="c", name="f", arguments='{"a":1}'), finish="tool_calls"),
    ),
    (
        "lone-surrogates-in-arguments",
        CHAT,
        chat(call(0, call_id="c", name="f", arguments='{"a":"\ud800"}'), finish="tool_calls"),
        chat(call(0, call_id="c", name="f", arguments='{"a":"\ud801"}'), finish="tool_calls"),
    ),
    ("usage-that-is-no-number", CHAT, chunk_of(usage={"prompt_tokens": "1"}), chunk_of()),
    (
        "error-of-which-only-a-message-is-told",
        CHAT,
        event({"error": "boom"}),
        event({"error": "bang"}),
    ),
    (
        "log-probabilities-of-a-refusal",
        CHAT,
        *(
            chat(event({"choices": [{"delta": {"refusal": "n"}, "logprobs": {"refusal": [x]}}]}))
            for x in ({"token": "n", "logprob": -1}, {"token": "n", "logprob": -2})
        ),
    ),
    ("log-probabilities-of-a-delta", RESPONSES, delta_with(-0.5), delta_with(-1.5)),
    ("log-probabilities-of-one-side", RESPONSES, delta_with(-0.5), final_text("a")),
    ("log-probabilities-at-the-end", RESPONSES, final_with(-0.5), final_with(-1.5)),
    ("final-text", RESPONSES, final_text("b"), final_text("c")),
    ("final-text-and-the-same", RESPONSES, told_otherwise(), response()),
    ("output-that-is-empty", RESPONSES, response(output=[]), response()),
    ("text-told-at-the-end-only", RESPONSES, only_at_the_end(), response(output=[])),
    ("echoed-setting", RESPONSES, response(temperature=0), response(temperature=1)),
    ("status-of-an-item", RESPONSES, item_with(status="incomplete"), item_with(status="completed")),
    ("sealed-content-of-one-side", RESPONSES, item_with(encrypted_content="x"), item_with()),
    ("entry-of-an-item", RESPONSES, item_with(phase="x"), item_with(phase="y")),
    ("entry-of-the-delta", MESSAGES, message(stop_details={"a": 1}), message()),
    ("entry-of-the-event", MESSAGES, delta_event(context_management={"a": 1}), delta_event()),
    ("entry-of-a-block", MESSAGES, message(block(0, "text", "a", caller="x")),
     message(block(0, "text", "a"))),
    ("sealed-thinking-of-one-side", MESSAGES, message(block(0, "thinking", "a", signature="x")),
     message(block(0, "thinking", "a"))),
    ("query-of-a-search", MESSAGES, searched("x"), searched("y")),
]  # fmt: skip

# name, API, left, right
EQUAL = [
    ("volatile-entries", CHAT, chunk_of(system_fingerprint="x", timings={"a": 1}),
     chunk_of(system_fingerprint="y", timings={"a": 2})),
    ("entry-of-every-chunk", CHAT, chat(say("a")).replace(b'"m"', b'"m", "provider": "x"'),
     chat(say("a")).replace(b'"m"', b'"m", "provider": "x"', 1)),
    ("signatures", MESSAGES, message(block(0, "thinking", "a", signature="x")),
     message(block(0, "thinking", "a", signature="y"))),
    ("redacted-thinking", MESSAGES, message(block(0, "redacted_thinking", data="x")),
     message(block(0, "redacted_thinking", data="y"))),
    ("container", MESSAGES, message(container={"id": "x"}), message(container={"id": "y"})),
    ("pings", MESSAGES, message(typed("ping"), block(0, "text", "a"), typed("ping")),
     message(block(0, "text", "a"))),
    ("sealed-content", RESPONSES, item_with(encrypted_content="x"),
     item_with(encrypted_content="y")),
    ("another-id-in-the-output", RESPONSES, item_with(id="x"), item_with(id="y")),
    ("packed-with-its-head", CHAT, http(chat(say("a"))), http(chat(say("a")))),
    ("done-behind-the-end", MESSAGES, message() + DONE, message() + DONE),
]  # fmt: skip
