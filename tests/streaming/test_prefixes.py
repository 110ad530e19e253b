"""Captures that break off: at every byte, never an exception, always incomplete, never equal."""

from pathlib import Path

import pytest
from streaming.other_rows import with_calls
from streaming.reading import recorded, written
from streaming.wire import block, call, chat, chunked, http, message, packed, say, usage

from tracediff.comparison import diff_files
from tracediff.diff import Outcome
from tracediff.errors import IncompleteTrace
from tracediff.storage import read_trace
from tracediff.storage.names import partial_path

CHAT = chat(
    say("Hé", "😀"),
    call(0, call_id="c", name="f", arguments='{"a":1}'),
    usage(3, 2),
    finish="length",
)
WHOLE = (
    b'{"object":"chat.completion","choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}'
)
MESSAGE = message(block(0, "text", "Hé", "😀"), block(1, "tool_use", '{"a":1}', name="f", id="t"))

CAPTURES = [
    pytest.param("openai-chat", CHAT, id="chat"),
    pytest.param("openai-chat", CHAT.replace(b"\n", b"\r\n"), id="chat-crlf"),
    pytest.param("openai-chat", http(chunked(CHAT), "Transfer-Encoding: chunked"), id="chunked"),
    pytest.param(
        "openai-chat", http(CHAT, f"Content-Length: {len(CHAT)}"), id="of-a-stated-length"
    ),
    pytest.param(
        "openai-chat",
        http(chunked(packed(CHAT), 7), "Transfer-Encoding: chunked", "Content-Encoding: gzip"),
        id="chunked-and-packed",
    ),
    pytest.param("openai-chat", packed(CHAT), id="packed"),
    pytest.param("openai-chat", WHOLE, id="not-streamed"),
    pytest.param("anthropic-messages", MESSAGE, id="messages"),
    pytest.param("openai-responses", with_calls(), id="responses"),
]


@pytest.mark.parametrize(("api", "raw"), CAPTURES)
def test_every_prefix_is_incomplete(api: str, raw: bytes) -> None:
    """A capture that lacks its last bytes is incomplete, at the byte where it ends."""
    assert recorded(raw, api).incomplete is None
    events = 0
    for end in range(len(raw)):
        found = recorded(raw[:end], api).incomplete
        assert found is not None, end
        assert found.byte == end
        assert found.reason
        assert found.events >= events, "events that came do not go again"
        events = found.events


@pytest.mark.parametrize("end", [0, 1, 150, 400, len(CHAT) - 1])
def test_equal_prefixes_are_not_equal(end: int, tmp_path: Path) -> None:
    """Two captures cut at the same byte give traces that are incomplete and not equal."""
    names = (tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    for name in names:
        assert written(CHAT[:end], name).incomplete is not None
        assert not name.exists()
        with pytest.raises(IncompleteTrace):
            read_trace(partial_path(name))
    found = diff_files(*map(partial_path, names))
    assert found.outcome is Outcome.INCOMPLETE


def test_a_prefix_is_not_equal_to_the_whole(tmp_path: Path) -> None:
    """The trace of a whole answer and of one that breaks off do not compare as equal."""
    whole, cut = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    assert written(CHAT, whole).incomplete is None
    written(CHAT[:-1], cut)
    assert diff_files(whole, partial_path(cut)).outcome is Outcome.INCOMPLETE
    assert diff_files(whole, whole).outcome is Outcome.EQUAL


def test_the_trace_names_the_place(tmp_path: Path) -> None:
    """The last event of an incomplete trace says why it is, and at which byte and event."""
    written(CHAT[:400], tmp_path / "a.jsonl")
    last = partial_path(tmp_path / "a.jsonl").read_text("utf-8").splitlines()[-1]
    assert '"event_type":"stream.interrupted"' in last
    assert '"reason":"it ends inside an event"' in last
    assert '"byte":400' in last
    assert '"end"' not in last
