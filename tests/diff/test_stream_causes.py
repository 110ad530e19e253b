"""Recorded answers of two servers: the lowest layer that differs, and whether the message does."""

from typing import Any

import pytest
from streaming.reading import traced
from streaming.wire import DONE, block, call, chat, chunk, event, http, message, say, usage

from tracediff.diff import DiffOptions, Outcome, TraceDiff, diff_traces

PLAIN = chat(say("Hel", "lo"), usage(3, 2))
CALL = call(0, call_id="c0", name="f", arguments='{"a":')
CALLED = chat(CALL, call(0, arguments="1}"), finish="tool_calls")
JOINED = DiffOptions(views=("joined-text",))
ANTHROPIC = "anthropic-messages"


def compared(left: bytes, right: bytes, api: str = "openai-chat", **options: Any) -> TraceDiff:
    return diff_traces(traced(left, api), traced(right, api), **options)


LAYERS = [
    pytest.param(
        http(PLAIN), http(PLAIN, status="201 Created"), "status", "head", False, id="status"
    ),
    pytest.param(
        PLAIN, PLAIN.replace(b'"model": "m"', b'"model": "n"'), "artifact-changed",
        "identification", False, id="model",
    ),
    pytest.param(
        PLAIN, chat(say("Hel", "lo"), usage(3, 2), b"event: ping\ndata:\n\n"), "framing",
        "framing", False, id="a-ping",
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
        "arguments-changed", "delta", False, id="spaces-in-arguments",
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


def test_stop_sequence_that_is_not_held_back() -> None:
    """A server that returns the beginning of its stop sequence is told from another text."""

    def stopped(*texts: str) -> bytes:
        last = {"finish_reason": "stop", "stop_reason": "</a>"}
        return say(*texts) + event({"choices": [last]}) + DONE

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
    failing = say("Hel") + event({"error": {"type": "server_error", "message": "m"}})
    found = compared(say("Hel", "lo") + chunk({}, "stop") + DONE, failing)
    assert found.outcome is Outcome.DIVERGED
    assert found.cause is not None
    assert found.cause.evidence["top_differs"] is True
    assert compared(failing, failing).outcome is Outcome.EQUAL
