"""Captures of chat completions, each with the answer that it holds.

The expected texts, calls and reasons are what the API's reference says of these events, and what
OpenAI's own SDK puts together where it reads them.
"""

from streaming.wire import DONE, START, call, chat, chunk, event, http, packed, say, usage

CUT = "it ends without [DONE]"
WEATHER = '{"city":"Paris"}'
LOGPROBS = {"content": [{"token": "a", "logprob": -0.5, "bytes": [97], "top_logprobs": []}]}
CALLS = "tool_calls"

# name, capture, text, tool calls as (name, status, arguments), finish reason, violations or the
# reason why it is not whole
CHAT_ROWS = [
    ("plain", chat(say("Hel", "lo")), "Hello", [], "stop", []),
    (
        "no-role",
        chat(say("a"), role=False),
        *("a", [], "stop", "it begins without a chunk that names the role"),
    ),
    ("no-role-behind-a-head", http(chat(say("a"), role=False)), "a", [], "stop", ["missing-start"]),
    (
        "no-role-in-the-second-answer",
        chat(say("a"), chunk({"content": "b"}, "stop", index=1)),
        *("a", [], "stop", "it begins without a chunk that names the role"),
    ),
    ("empty-deltas", chat(say("", "a", "", "b", "")), "ab", [], "stop", []),
    ("null-content", chat(chunk({"content": None}), say("a")), "a", [], "stop", []),
    ("null-delta", chat(chunk(None), say("a")), "a", [], "stop", []),
    ("no-text-at-all", chat(), "", [], "stop", []),
    ("usage-only-chunk", chat(say("a"))[: -len(DONE)] + usage(3, 1) + DONE, "a", [], "stop", []),
    (
        "usage-without-choices",
        chat(say("a"), event({"usage": {"prompt_tokens": 1, "completion_tokens": 1}})),
        *("a", [], "stop", []),
    ),
    (
        "cumulative-usage",
        chat(usage(3, 1), say("a"), usage(3, 2), say("b"), usage(3, 2)),
        *("ab", [], "stop", []),
    ),
    (
        "usage-that-decreases",
        chat(usage(3, 5), say("a"), usage(3, 2)),
        *("a", [], "stop", ["usage-decreases"]),
    ),
    ("missing-choices", chat(say("a"), event({"id": "chatcmpl-1"})), "a", [], "stop",
     ["missing-choices"]),
    ("length", chat(say("a"), finish="length"), "a", [], "length", []),
    ("filtered", chat(say("a"), finish="content_filter"), "a", [], "content_filter", []),
    ("unknown-finish", chat(say("a"), finish="tired"), "a", [], "other", ["unknown-finish"]),
    (
        "stop-string",
        START + say("a")
        + event({"choices": [{"finish_reason": "stop", "stop_reason": "</a>"}]}) + DONE,
        *("a", [], "stop_sequence", []),
    ),
    (
        "duplicate-finish",
        chat(say("a"), chunk({}, "stop")),
        *("a", [], "stop", ["duplicate-finish"]),
    ),
    (
        "conflicting-finish",
        chat(say("a"), chunk({}, "length")),
        *("a", [], "stop", ["conflicting-finish"]),
    ),
    (
        "text-after-finish",
        chat(say("a"), chunk({}, "stop"), say("b")),
        *("ab", [], "stop", ["delta-after-finish", "duplicate-finish"]),
    ),
    ("no-finish", START + say("a") + DONE, "a", [], None, "the answer has no finish reason"),
    ("no-done", chat(say("a"))[: -len(DONE)], "a", [], "stop", CUT),
    (
        "no-done-of-stated-length",
        http(raw := chat(say("a"))[: -len(DONE)], f"Content-Length: {len(raw)}"),
        *("a", [], "stop", ["missing-terminator"]),
    ),
    ("no-end-at-all", START + say("a"), "a", [], None, CUT + " or a finish reason"),
    (
        "done-without-blank-line",
        chat(say("a"))[:-1],
        *("a", [], "stop", "it ends inside an event"),
    ),
    ("done-twice", chat(say("a")) + DONE, "a", [], "stop", ["duplicate-end"]),
    ("text-after-done", chat(say("a")) + say("b"), "a", [], "stop", ["event-after-end"]),
    ("mixed-line-ends", chat(say("a")).replace(b"\n\n", b"\r\n\r", 2), "a", [], "stop", []),
    ("line-ends-of-crlf", chat(say("a")).replace(b"\n", b"\r\n"), "a", [], "stop", []),
    (
        "comments-and-byte-order-mark",
        b"\xef\xbb\xbf: connected\n\n" + chat(say("a"), b": keep-alive\n\n"),
        *("a", [], "stop", []),
    ),
    ("ping-with-empty-data", chat(say("a"), b"event: ping\ndata:\n\n"), "a", [], "stop", []),
    ("data-that-is-no-json", chat(event("oops")), "", [], "stop", ["data-is-no-json"]),
    ("data-that-is-a-list", chat(event("[1]")), "", [], "stop", ["data-is-no-object"]),
    (
        "choices-of-another-form",
        chat(say("a"), event({"choices": [7]})),
        *("a", [], "stop", ["unexpected-form"]),
    ),
    (
        "error-after-200",
        START + say("a") + event({"error": {"type": "server_error", "code": None, "message": "m"}}),
        *("a", [], None, []),
    ),
    (
        "error-then-done",
        START + say("a") + event({"error": {"message": "m"}}) + DONE,
        *("a", [], None, []),
    ),
    (
        "surrogates-in-two-deltas",
        chat(event('{"choices":[{"delta":{"content":"x\\ud83d"}}]}'),
             event('{"choices":[{"delta":{"content":"\\ude00y"}}]}')),
        *("x😀y", [], "stop", []),
    ),
    (
        "a-lone-surrogate",
        chat(event('{"choices":[{"delta":{"content":"a\\ud83d"}}]}'), say("b")),
        *("a\ud83db", [], "stop", []),
    ),
    ("nel-and-line-separator", chat(say("a\u0085b\u2028c")), "a\u0085b\u2028c", [], "stop", []),
    (
        "raw-utf-8",
        chat('data: {"choices":[{"delta":{"content":"é😀\u2028"}}]}\n\n'.encode()),
        *("é😀\u2028", [], "stop", []),
    ),
    (
        "content-in-parts",
        chat(chunk({"content": [{"type": "text", "text": "a"}]})),
        *("a", [], "stop", []),
    ),
    (
        "refusal",
        chat(chunk({"refusal": "I can"}), chunk({"refusal": "not"})),
        *("", [], "stop", []),
    ),
    (
        "reasoning",
        chat(chunk({"reasoning_content": "hm"}), say("a")),
        *("a", [], "stop", []),
    ),
    (
        "log-probabilities",
        chat(event({"choices": [{"delta": {"content": "a"}, "logprobs": LOGPROBS}]})),
        *("a", [], "stop", []),
    ),
    (
        "azure-filter-first",
        chat(event({"id": "", "model": "", "choices": [], "prompt_filter_results": [1]}), say("a")),
        *("a", [], "stop", []),
    ),
    (
        "id-and-model-change",
        chat(say("a"), event({"id": "other", "model": "other", "choices": []})),
        *("a", [], "stop", ["model-changes", "id-changes"]),
    ),
    (
        "tool-call",
        chat(call(0, call_id="c0", name="weather", arguments=""),
             call(0, arguments='{"city":'), call(0, arguments='"Paris"}'), finish=CALLS),
        *("", [("weather", "parsed", WEATHER)], "tool_call", []),
    ),
    (
        "parallel-calls-interleaved",
        chat(call(0, call_id="c0", name="a", arguments=""),
             call(1, call_id="c1", name="b", arguments=""),
             call(1, arguments='{"y":'), call(0, arguments='{"x"'),
             call(1, arguments="2}"), call(0, arguments=":1}"), finish=CALLS),
        *("", [("a", "parsed", '{"x":1}'), ("b", "parsed", '{"y":2}')], "tool_call", []),
    ),
    (
        "calls-without-index-by-id",
        chat(call(None, call_id="c0", name="a", arguments='{"x":'), call(None, arguments="1}"),
             call(None, call_id="c1", name="b", arguments='{"y":2}'), finish=CALLS),
        *("", [("a", "parsed", '{"x":1}'), ("b", "parsed", '{"y":2}')], "tool_call", []),
    ),
    (
        "calls-without-index-or-id",
        chat(call(None, name="a", arguments="{}"), call(None, name="b", arguments="{}"),
             finish=CALLS),
        *("", [("a", "parsed", "{}"), ("b", "parsed", "{}")], "tool_call", []),
    ),
    (
        "calls-that-share-an-index",
        chat(call(0, call_id="c0", name="a", arguments="{}"),
             call(0, call_id="c1", name="b", arguments="{}"), finish=CALLS),
        *("", [("a", "parsed", "{}"), ("b", "parsed", "{}")], "tool_call",
          ["tool-call-index-reused"]),
    ),
    (
        "id-and-name-in-every-fragment",
        chat(call(0, call_id="c0", name="a", arguments='{"x"'),
             call(0, call_id="c0", name="a", arguments=":1}"), finish=CALLS),
        *("", [("a", "parsed", '{"x":1}')], "tool_call", []),
    ),
    (
        "name-in-pieces",
        chat(call(0, call_id="c0", name="wea"), call(0, name="ther", arguments="{}"),
             finish=CALLS),
        *("", [("weather", "parsed", "{}")], "tool_call", []),
    ),
    (
        "second-call-first",
        chat(call(1, call_id="c1", name="b", arguments="{}"),
             call(0, call_id="c0", name="a", arguments="{}"), finish=CALLS),
        *("", [("a", "parsed", "{}"), ("b", "parsed", "{}")], "tool_call", []),
    ),
    (
        "call-without-arguments",
        chat(call(0, call_id="c0", name="now", arguments=""), finish=CALLS),
        *("", [("now", "empty", "")], "tool_call", []),
    ),
    (
        "call-cut-off-by-the-limit",
        chat(call(0, call_id="c0", name="a", arguments='{"city":"Pa'), finish="length"),
        *("", [("a", "truncated", '{"city":"Pa')], "length", []),
    ),
    (
        "call-that-does-not-parse",
        chat(call(0, call_id="c0", name="a", arguments='{"city":"Pa'), finish=CALLS),
        *("", [("a", "malformed", '{"city":"Pa')], "tool_call", ["malformed-arguments"]),
    ),
    (
        "arguments-that-are-no-object",
        chat(call(0, call_id="c0", name="a", arguments="[1]"), finish=CALLS),
        *("", [("a", "malformed", "[1]")], "tool_call", ["malformed-arguments"]),
    ),
    (
        "arguments-as-an-object",
        chat(call(0, call_id="c0", name="a", arguments={"city": "Paris"}), finish=CALLS),
        *("", [("a", "parsed", WEATHER)], "tool_call", ["arguments-are-no-text"]),
    ),
    (
        "call-without-a-name",
        chat(call(0, call_id="c0", arguments="{}"), finish=CALLS),
        *("", [("", "parsed", "{}")], "tool_call", ["tool-call-without-name"]),
    ),
    (
        "function-call-of-old",
        chat(chunk({"function_call": {"name": "a", "arguments": "{"}}),
             chunk({"function_call": {"arguments": "}"}}), finish="function_call"),
        *("", [("a", "parsed", "{}")], "tool_call", []),
    ),
    ("gzip-without-a-head", packed(chat(say("a"))), "a", [], "stop", []),
]  # fmt: skip
