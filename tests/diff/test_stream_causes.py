"""Recorded answers of two servers: the lowest layer that differs, and whether the message does."""

from typing import Any

import pytest
from streaming.other_rows import response
from streaming.reading import traced
from streaming.wire import DONE, START, block, call, chat, chunk, event, http, message, say, usage

from tracediff.diff import DiffOptions, Outcome, TraceDiff, diff_traces

PLAIN = chat(say("Hel", "lo"), usage(3, 2))
CALL = call(0, call_id="c0", name="f", arguments='{"a":')
CALLED = chat(CALL, call(0, arguments="1}"), finish="tool_calls")
JOINED = DiffOptions(views=("joined-text",))
ANTHROPIC = "anthropic-messages"


def compared(left: bytes, right: bytes, api: str = "openai-chat", **options: Any) -> TraceDiff:
    return diff_traces(traced(left, api), traced(right, api), **options)


def scored(logprob: float) -> bytes:
    """Return a chunk of text with a log-probability."""
    listed = {"content": [{"token": "a", "logprob": logprob}]}
    return event({"choices": [{"delta": {"content": "a"}, "logprobs": listed}]})


LOGPROBS = scored(-0.5), scored(-1.5)
ROLE = chunk({"role": "assistant"}, index=1)

LAYERS = [
    pytest.param(
        http(PLAIN), http(PLAIN, status="201 Created"), "status", "head", False, id="status"
    ),
    pytest.param(
        PLAIN, PLAIN.replace(b'"model": "m"', b'"model": "n"'), "artifact-changed",
        "identification", False, id="model",
    ),
    pytest.param(
        PLAIN, chat(say("Hel", "lo"), usage(3, 2), b"event: ping\ndata:\n\n"), None, None, False,
        id="a-ping",
    ),
    pytest.param(
        PLAIN, chat(say("Hel", "lo"), event("", "x"), usage(3, 2)), "framing", "framing", False,
        id="an-empty-event",
    ),
    pytest.param(
        PLAIN, chat(say("Hello"), usage(3, 2)), "transport-chunking", "delta", False, id="recut"
    ),
    pytest.param(
        PLAIN, chat(say("H", "", "ello"), usage(3, 2)), "transport-chunking", "delta", False,
        id="recut-with-empty-delta",
    ),
    pytest.param(
        PLAIN, chat(say("Hel", "p"), usage(3, 2)), "answer-changed", "delta", True, id="text"
    ),
    pytest.param(
        PLAIN, chat(say("Hel", "lo", "!"), usage(3, 2)), "answer-changed", "delta", True,
        id="more-text",
    ),
    pytest.param(
        CALLED, chat(CALL, call(0, arguments="2}"), finish="tool_calls"), "arguments-changed",
        "delta", True, id="arguments",
    ),
    pytest.param(
        CALLED, CALLED.replace(b'"f"', b'"g"'), "tool-call", "delta", True, id="another-tool"
    ),
    pytest.param(
        CALLED,
        chat(call(0, call_id="c0", name="f", arguments='{"a": '), call(0, arguments="1}"),
             finish="tool_calls"),
        "arguments-spelling", "delta", False, id="spaces-in-arguments",
    ),
    pytest.param(
        PLAIN, PLAIN.replace(b'"role": "assistant"', b'"role": "model"'), "answer-changed",
        "assembly", True, id="role",
    ),
    pytest.param(
        PLAIN, chat(say("Hel", "lo"), usage(3, 2), finish="length"), "stop-rule", "finish", False,
        id="finish",
    ),
    pytest.param(
        PLAIN, chat(say("Hel", "lo"), usage(3, 4)), "usage", "usage", False, id="usage"
    ),
    pytest.param(
        http(PLAIN), PLAIN, None, None, False, id="a-head-on-one-side"
    ),
    pytest.param(
        PLAIN, chat(say("Hel", "lo", ""), usage(3, 2)), "transport-chunking", "framing", False,
        id="an-empty-delta-more",
    ),
    pytest.param(
        chat(*LOGPROBS[:1]), chat(*LOGPROBS[1:]), "log-probabilities", "delta", False,
        id="log-probabilities",
    ),
    pytest.param(
        chat(ROLE, say("a"), chunk({"content": "b"}, index=1), chunk({}, "stop", index=1)),
        chat(ROLE, chunk({"content": "b"}, index=1), say("a"), chunk({}, "stop", index=1)),
        "transport-chunking", "delta", False, id="two-answers-interleaved-otherwise",
    ),
    pytest.param(
        PLAIN, chat(chunk({"refusal": "No."}), usage(3, 2)), "answer-changed", "delta", True,
        id="refused",
    ),
    pytest.param(
        PLAIN, PLAIN.replace(b'"created": 1', b'"created": 9'), None, None, False, id="created"
    ),
    pytest.param(
        PLAIN, PLAIN.replace(b"chatcmpl-1", b"chatcmpl-2"), None, None, False, id="id"
    ),
    pytest.param(
        PLAIN, PLAIN.replace(b'"created"', b'"obfuscation": "xxxx", "created"'), None, None, False,
        id="padding",
    ),
    pytest.param(
        CALLED, CALLED.replace(b'"c0"', b'"call_9"'), None, None, False, id="tool-call-id"
    ),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right", "kind", "lowest", "top"), LAYERS)
def test_lowest_layer(
    left: bytes, right: bytes, kind: str | None, lowest: str | None, top: bool
) -> None:
    """The first divergence is the lowest layer that differs, and its cause says what the top does.

    What changes from one answer to the next is no divergence.
    """
    for mine, other in ((left, right), (right, left)):
        found = compared(mine, other)
        if kind is None:
            assert found.outcome is Outcome.EQUAL
            continue
        assert found.outcome is Outcome.DIVERGED
        assert found.cause is not None
        assert found.cause.kind == kind
        assert found.cause.component == found.cause.evidence["lowest"] == lowest
        assert found.cause.evidence["top_differs"] is top
        assert len(found.frontier) == 1


@pytest.mark.parametrize(
    ("left", "right", "api"),
    [
        pytest.param(PLAIN, chat(say("Hello"), usage(3, 2)), "openai-chat", id="text"),
        pytest.param(
            PLAIN, chat(say("", "H", "ell", "", "o"), b": x\n\n", usage(3, 2)), "openai-chat",
            id="empty-deltas",
        ),
        pytest.param(
            chat(say("😀")),
            chat(event('{"choices":[{"delta":{"content":"\\ud83d"}}]}'),
                 event('{"choices":[{"delta":{"content":"\\ude00"}}]}')),
            "openai-chat", id="halves-of-a-character",
        ),
        pytest.param(
            CALLED, chat(call(0, call_id="x", name="f", arguments='{"a":1}'), finish="tool_calls"),
            "openai-chat", id="arguments",
        ),
        pytest.param(
            message(block(0, "text", "Hel", "lo")), message(block(0, "text", "Hello")), ANTHROPIC,
            id="messages",
        ),
    ],
)  # fmt: skip
def test_joined_text_ignores_chunking(left: bytes, right: bytes, api: str) -> None:
    """The same answer in other pieces diverges, and is equal under the view that joins them."""
    if api == "openai-chat":
        cause = compared(left, right).cause
        assert cause is not None
        assert cause.kind == "transport-chunking"
    assert compared(left, right, api, options=JOINED).outcome is Outcome.EQUAL
    assert compared(right, left, api, options=JOINED).outcome is Outcome.EQUAL


@pytest.mark.parametrize(
    ("right", "kind", "lowest"),
    [
        pytest.param(chat(say("Help"), usage(3, 2)), "answer-changed", "delta", id="text"),
        pytest.param(
            chat(say("Hello"), usage(3, 2), finish="length"), "stop-rule", "finish", id="finish"
        ),
        pytest.param(chat(say("Hello"), usage(3, 4)), "usage", "usage", id="usage"),
        pytest.param(
            chat(say("Hello"), usage(3, 2)) + DONE, "protocol", "end", id="done-twice"
        ),
        pytest.param(
            chat(say("Hello"), chunk({"refusal": "no"}), usage(3, 2)), "answer-changed", "delta",
            id="refusal",
        ),
    ],
)  # fmt: skip
def test_joined_text_still_compares(right: bytes, kind: str, lowest: str) -> None:
    """What differs apart from chunking differs under the view too, in its own layer."""
    found = compared(PLAIN, right, options=JOINED)
    assert found.cause is not None
    assert (found.cause.kind, found.cause.component) == (kind, lowest)


def test_an_error_that_ends_the_text() -> None:
    """A server that fails in the middle is told from one that stops there."""
    failing = START + say("Hel") + event({"error": {"type": "server_error", "message": "m"}})
    for options, layer in ((DiffOptions(), "framing"), (JOINED, "delta")):
        found = compared(chat(say("Hel", "lo")), failing, options=options)
        assert found.cause is not None
        assert (found.cause.kind, found.cause.component) == ("server-error", layer)


ONE_RULE = [
    pytest.param(
        chat(say("a", "b", "c")), chat(say("a", "b"), finish="length"), "openai-chat",
        ("stop-rule", "delta"), id="chat-shorter",
    ),
    pytest.param(
        message(block(0, "text", "a", "b", "c")),
        message(block(0, "text", "a", "b"), stop="max_tokens"), ANTHROPIC,
        ("stop-rule", "delta"), id="messages-shorter",
    ),
    pytest.param(
        response(), response(status="incomplete",
                             incomplete_details={"reason": "max_output_tokens"}),
        "openai-responses", ("stop-rule", "framing"), id="responses-finish",
    ),
    pytest.param(
        chat(say("a")), chat(say("a"), finish="length"), "openai-chat",
        ("stop-rule", "finish"), id="chat-finish",
    ),
    pytest.param(
        message(block(0, "text", "a")), message(block(0, "text", "a"), stop="max_tokens"),
        ANTHROPIC, ("stop-rule", "finish"), id="messages-finish",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right", "api", "cause"), ONE_RULE)
def test_one_rule_for_every_api(
    left: bytes, right: bytes, api: str, cause: tuple[str, str]
) -> None:
    """The same change has the same kind in every API and view; the layer is where it first shows.

    Only responses name the end of the stream otherwise, so there it is the framing.
    """
    for one, two in ((left, right), (right, left)):
        found = compared(one, two, api).cause
        joined = compared(one, two, api, options=JOINED)
        assert found is not None
        assert joined.cause is not None
        assert (found.kind, found.component) == cause
        assert joined.cause.kind == found.kind
        layer = "finish" if cause[1] == "framing" else cause[1]
        assert joined.cause.component == layer
        assert len(joined.frontier) == 1
        place = joined.frontier[0].left or joined.frontier[0].right
        assert place is not None
        assert place.event_type == ("stream.joined" if layer == "delta" else "message.finished")


@pytest.mark.parametrize(
    ("left", "right", "api"),
    [
        pytest.param(
            chat(say("a", "b"), usage(1, 2)),
            b'{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"message":'
            b'{"role":"assistant","content":"ab","refusal":null},"finish_reason":"stop"}],"usage":'
            b'{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}',
            "openai-chat", id="chat",
        ),
        pytest.param(
            message(block(0, "text", "a", "b")),
            b'{"id":"x","type":"message","role":"assistant","model":"c","content":[{"type":"text",'
            b'"text":"ab"}],"stop_reason":"end_turn","stop_sequence":null,"usage":'
            b'{"input_tokens":5,"output_tokens":7}}',
            ANTHROPIC, id="messages",
        ),
    ],
)  # fmt: skip
def test_streamed_or_not(left: bytes, right: bytes, api: str) -> None:
    """The same answer streamed and whole is equal under the view that joins texts."""
    assert compared(left, right, api).outcome is Outcome.DIVERGED
    assert compared(left, right, api, options=JOINED).outcome is Outcome.EQUAL


def test_what_a_capture_does_not_know_is_said() -> None:
    """Head and request are compared where both sides know them, else a line says so."""
    asked = b'{"model":"m","messages":[1],"temperature":0}'
    known = traced(http(PLAIN), request=asked)
    found = diff_traces(traced(PLAIN), known)
    assert found.outcome is Outcome.EQUAL
    assert not found.triggers
    told = " ".join(found.normalisers)
    assert "status and content type not compared: left" in told


def test_stop_sequence_that_is_not_held_back() -> None:
    """A server that returns the beginning of its stop sequence is told from another text."""

    def stopped(*texts: str) -> bytes:
        last = {"finish_reason": "stop", "stop_reason": "</a>"}
        return START + say(*texts) + event({"choices": [last]}) + DONE

    found = compared(stopped("ok", "."), stopped("ok", ".</"))
    assert found.cause is not None
    assert found.cause.kind == "stop-rule"
    assert found.cause.evidence["returned"] == "</"


@pytest.mark.parametrize(
    ("left", "right", "kind"),
    [
        pytest.param(b'{"model":"m"}', b'{"model":"n"}', "artifact-changed", id="model"),
        pytest.param(b'{"messages":[1]}', b'{"messages":[2]}', "input-changed", id="messages"),
        pytest.param(b'{"tools":[1]}', b"{}", "input-changed", id="tools"),
        pytest.param(b'{"temperature":0}', b'{"temperature":1}', None, id="settings"),
        pytest.param(b'{"user":"a"}', b'{"user":"b"}', None, id="other-entries"),
        pytest.param(b'{"seed": 1}', b'{"seed":1}', None, id="spelling"),
    ],
)
def test_requests(left: bytes, right: bytes, kind: str | None) -> None:
    """Requests differ in what they ask; what they only set is a trigger."""
    mine, other = traced(PLAIN, request=left), traced(PLAIN, request=right)
    found = diff_traces(mine, other)
    if kind is None:
        assert found.outcome is Outcome.EQUAL
        assert bool(found.triggers) is (left != right.replace(b":", b": "))
        return
    assert found.cause is not None
    assert (found.cause.kind, found.cause.component) == (kind, "request")


def test_one_side_stops_earlier() -> None:
    """A text that a limit cuts short is told from another text."""
    found = compared(chat(say("a", "b", "c")), chat(say("a", "b"), finish="length"))
    assert found.cause is not None
    assert found.cause.kind == "stop-rule"
    assert found.cause.evidence["finish_reason"] == {"left": "stop", "right": "length"}
    assert found.cause.evidence["top_differs"] is True


def test_an_error_in_the_middle() -> None:
    """A server that fails after some text diverges where its text ends."""
    failing = START + say("Hel") + event({"error": {"type": "server_error", "message": "m"}})
    found = compared(chat(say("Hel", "lo")), failing)
    assert found.outcome is Outcome.DIVERGED
    assert found.cause is not None
    assert found.cause.evidence["top_differs"] is True
    assert compared(failing, failing).outcome is Outcome.EQUAL
