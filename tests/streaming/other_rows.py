"""Captures of Anthropic's messages and OpenAI's responses, each with the answer that it holds.

The expected texts, calls and reasons are what the APIs' references say of these events.
"""

from streaming.wire import DONE, Responses, block, event, message, typed

BLOCK = "content_block_delta"
TEXT = {"type": "text_delta", "text": "a"}

# name, capture, text, tool calls as (name, status, arguments), finish reason, violations or the
# reason why it is not whole
ANTHROPIC_ROWS = [
    ("plain", message(block(0, "text", "Hel", "lo")), "Hello", [], "eos", []),
    ("two-texts", message(block(0, "text", "a"), block(1, "text", "b")), "ab", [], "eos", []),
    ("empty", message(), "", [], "eos", []),
    ("ping", message(typed("ping"), block(0, "text", "a")), "a", [], "eos", []),
    ("ping-without-data", message(b"event: ping\ndata:\n\n"), "", [], "eos", []),
    ("limit", message(block(0, "text", "a"), stop="max_tokens"), "a", [], "max_tokens", []),
    (
        "window-full",
        message(stop="model_context_window_exceeded"),
        *("", [], "context_window", []),
    ),
    (
        "stop-sequence",
        message(block(0, "text", "a"), stop="stop_sequence", stop_sequence="</a>"),
        *("a", [], "stop_sequence", []),
    ),
    ("refused", message(stop="refusal"), "", [], "refusal", []),
    ("paused", message(stop="pause_turn"), "", [], "pause", []),
    (
        "thinking-and-signature",
        message(block(0, "thinking", "hm"),
                typed("content_block_start", index=1, content_block=TEXT | {"type": "text"}),
                typed(BLOCK, index=1, delta={"type": "signature_delta", "signature": "s"}),
                typed("content_block_stop", index=1)),
        *("a", [], "eos", []),
    ),
    (
        "tool-use",
        message(block(0, "text", "Let me see."),
                block(1, "tool_use", "", '{"city":', '"Paris"}', name="weather", id="t1", input={}),
                stop="tool_use"),
        *("Let me see.", [("weather", "parsed", '{"city":"Paris"}')], "tool_call", []),
    ),
    (
        "two-uses",
        message(block(0, "tool_use", '{"x":1}', name="a", id="t1", input={}),
                block(1, "tool_use", '{"y":2}', name="b", id="t2", input={}), stop="tool_use"),
        *("", [("a", "parsed", '{"x":1}'), ("b", "parsed", '{"y":2}')], "tool_call", []),
    ),
    (
        "use-without-input",
        message(block(0, "tool_use", name="now", id="t1", input={}), stop="tool_use"),
        *("", [("now", "parsed", "{}")], "tool_call", []),
    ),
    (
        "use-cut-off-by-the-limit",
        message(block(0, "tool_use", '{"city":"Pa', name="a", id="t1", input={}),
                stop="max_tokens"),
        *("", [("a", "truncated", '{"city":"Pa')], "max_tokens", []),
    ),
    (
        "error-after-200",
        message(block(0, "text", "a"))[:-60].rsplit(b"event: message_delta", 1)[0]
        + typed("error", error={"type": "overloaded_error", "message": "Overloaded"}),
        *("a", [], None, []),
    ),
    ("no-stop", message(block(0, "text", "a"))[: -len(typed("message_stop"))],
     "a", [], "eos", "it ends without message_stop"),
    ("no-reason", message(block(0, "text", "a"), stop=None), "a", [], None,
     "the answer has no finish reason"),
    (
        "delta-without-a-block",
        message(typed(BLOCK, index=0, delta=TEXT)),
        *("a", [], "eos", ["delta-outside-block", "block-left-open"]),
    ),
    (
        "delta-behind-its-block",
        message(block(0, "text", "a"), typed(BLOCK, index=0, delta=TEXT)),
        *("aa", [], "eos", ["delta-after-block-stop"]),
    ),
    (
        "started-twice",
        message(typed("message_start", message={"id": "msg_1", "model": "c"})),
        *("", [], "eos", ["duplicate-start"]),
    ),
    (
        "named-otherwise",
        message(event({"type": "ping"}, "message_stop"), block(0, "text", "a")),
        *("a", [], "eos", ["event-name-differs"]),
    ),
    ("without-type", message(event({"index": 0})), "", [], "eos",
     ["missing-type", "missing-event-name"]),
    ("stopped-twice", message() + typed("message_stop"), "", [], "eos", ["event-after-end"]),
    ("done-behind-the-stop", message() + DONE, "", [], "eos", []),
]  # fmt: skip


def response(*kinds: str, **facts: object) -> bytes:
    """Return a response whose text comes in one delta, with events of these kinds before it."""
    told = Responses()
    before = [told.created(), *(told.say(kind, detail=1) for kind in kinds)]
    return told.whole(*before, told.text("a"), **facts)  # type: ignore[arg-type]


def numbered(*numbers: int) -> bytes:
    """Return a response whose deltas have these numbers, and an end that goes on counting."""
    told = Responses()
    deltas = [
        typed("response.output_text.delta", sequence_number=number, output_index=0,
              content_index=0, delta=str(number))
        for number in numbers
    ]  # fmt: skip
    start = told.created()
    told._number = max(numbers)
    told.write(0, type="output_text", text="".join(map(str, numbers)))
    return start + b"".join(deltas) + told.whole()


def told_otherwise() -> bytes:
    """Return a response whose last word on its text differs from its deltas."""
    told = Responses()
    place = {"output_index": 0, "content_index": 0}
    told.write(0, type="output_text", text="b")
    return told.whole(
        told.created(),
        told.say("output_text.delta", **place, delta="a"),
        told.say("output_text.done", **place, text="b"),
    )


def with_calls() -> bytes:
    """Return a response with a text and two calls."""
    told = Responses()
    parts = [told.created(), told.text("Let"), told.call(1, "a", '{"x"', ":1}")]
    return told.whole(*parts, told.call(2, "b", "{}"))


def refused() -> bytes:
    """Return a response that is a refusal."""
    told = Responses()
    place = {"output_index": 0, "content_index": 0}
    told.write(0, type="refusal", refusal="No.")
    return told.whole(
        told.created(),
        told.say("refusal.delta", **place, delta="No."),
        told.say("refusal.done", **place, refusal="No."),
    )


def only_at_the_end() -> bytes:
    """Return a response without deltas, whose text is in its last event alone."""
    content = [{"type": "output_text", "text": "a", "annotations": []}]
    output = [{"type": "message", "role": "assistant", "content": content}]
    told = Responses()
    return told.whole(told.created(), output=output)


RESPONSES_ROWS = [
    ("plain", response(), "a", [], "stop", []),
    ("done-behind-the-end", response() + DONE, "a", [], "stop", []),
    ("frames", response("in_progress", "content_part.added"), "a", [], "stop", []),
    ("text-at-the-end-only", only_at_the_end(), "a", [], "stop", []),
    (
        "limit",
        response(status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
        *("a", [], "max_tokens", []),
    ),
    (
        "failed",
        response(status="failed", error={"code": "server_error", "message": "m"}),
        *("a", [], "error", []),
    ),
    ("calls", with_calls(), "Let", [("a", "parsed", '{"x":1}'), ("b", "parsed", "{}")],
     "tool_call", []),
    ("refused", refused(), "", [], "stop", []),
    ("a-gap", numbered(1, 2, 4), "124", [], "stop", ["sequence-gap"]),
    (
        "out-of-order",
        numbered(1, 3, 2, 4),
        *("1324", [], "stop", ["sequence-gap", "sequence-out-of-order", "sequence-gap"]),
    ),
    ("told-otherwise", told_otherwise(), "a", [], "stop", ["final-text-differs"]),
    ("no-end", with_calls().rsplit(b"event:", 1)[0], "Let",
     [("a", "parsed", '{"x":1}'), ("b", "parsed", "{}")], None,
     "it ends without response.completed or a finish reason"),
    ("event-behind-the-end", response() + numbered(9).split(b"\n\n")[0] + b"\n\n", "a", [], "stop",
     ["event-after-end"]),
    (
        "error-event",
        typed("error", code="rate_limit", message="m", sequence_number=0),
        *("", [], None, []),
    ),
]  # fmt: skip
