"""The key is in nothing that is recorded or told, however a server cuts it."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streaming.reading import pieces_of
from streaming.told_rows import tokens
from streaming.wire import Responses, block, call, chat, chunk, event, message, say, usage

from tracediff.contracts import check_trace
from tracediff.events import Event, Trace
from tracediff.recording.sinks import MemorySink
from tracediff.streaming.message import assemble
from tracediff.streaming.record import AnswerRecording, Recorded
from tracediff.streaming.request import unknown_request

KEY = "sk-very-secret"


class Kept(MemorySink):
    """A sink that tells what it got, also where the recording broke off."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[Event] = []

    def write(self, event: Event, *, at: int | None = None) -> None:
        """Take the next event."""
        self.events.append(event)
        super().write(event, at=at)


def read(
    raw: bytes, secret: str, api: str = "openai-chat", size: int = 50
) -> tuple[Recorded, Trace]:
    """Record a body as a client with this key does."""
    sink = MemorySink()
    found = read_into(sink, raw, secret, api, size)
    return found, sink.trace("a")


def read_into(
    sink: MemorySink, raw: bytes, secret: str, api: str = "openai-chat", size: int = 50
) -> Recorded:
    """Record a body as a client with this key does, whole or not."""
    with AnswerRecording(sink, unknown_request(api), api, secret=secret) as recording:
        body = recording.open_body(None, framed=False)
        for piece in pieces_of(raw, size):
            body.feed(piece)
        return recording.close(body.close())


def deltas(events: Iterable[Event]) -> list[str]:
    found = [event for event in events if event.event_type == "stream.delta"]
    return [event.payload["choice"]["text"] for event in found]


def told(*pieces: str) -> bytes:
    """Return a response that tells these pieces of text."""
    answer = Responses()
    return answer.whole(answer.created(), answer.text(*pieces))


LOGPROBS = {"content": [*tokens(-1.0), {"token": KEY[3:], "logprob": -1.0}]}

# name, API, capture
LEAKS = [
    ("one-piece", "openai-chat", chat(say(f"a {KEY} b"))),
    ("two-pieces", "openai-chat", chat(say("a sk-very", "-secret b"))),
    ("every-character", "openai-chat", chat(say(*KEY))),
    ("twice-and-a-beginning", "openai-chat", chat(say("sk-", f"sk-very-secret{KEY[:5]}", KEY[5:]))),
    ("with-a-call-between", "openai-chat",
     chat(say(KEY[:5]), call(0, call_id="c", name="f", arguments="{}"), say(KEY[5:]))),
    ("arguments", "openai-chat",
     chat(call(0, call_id="c", name="f", arguments='{"a":"sk-ve'),
          call(0, arguments='ry-secret"}'), finish="tool_calls")),
    ("arguments-with-escapes", "openai-chat",
     chat(call(0, call_id="c", name="f", arguments='{"a":"sk\\u002dvery-secret"}'),
          finish="tool_calls")),
    ("name-of-a-call", "openai-chat",
     chat(call(0, call_id="c", name=KEY[:6]), call(0, name=KEY[6:], arguments="{}"),
          finish="tool_calls")),
    ("escapes", "openai-chat",
     chat(say("@")).replace(b"@", b"sk\\u002dvery\\u002dsecret")),
    ("entries", "openai-chat", chat(chunk({"content": "a"}, **{KEY: KEY, "provider": [KEY]}))),
    ("model-and-id", "openai-chat", event({"id": KEY, "model": KEY, "choices": []}) + chat()),
    ("error", "openai-chat", chat(event({"error": {"type": KEY, "code": KEY, "message": KEY}}))),
    ("type-of-an-event", "openai-chat", chat(event({"choices": []}, KEY))),
    ("no-json", "openai-chat", chat(event(KEY))),
    ("refusal", "openai-chat", chat(chunk({"refusal": KEY[:4]}), chunk({"refusal": KEY[4:]}))),
    ("tokens", "openai-chat",
     chat(event({"choices": [{"delta": {"content": KEY}, "logprobs": LOGPROBS}]}))),
    ("cut-short", "openai-chat", chat(say("a", KEY[:9], KEY[9:]))[:-30]),
    ("two-blocks", "anthropic-messages",
     message(block(0, "text", KEY[:7]), block(1, "text", KEY[7:]))),
    ("input", "anthropic-messages",
     message(block(0, "tool_use", '{"a":"sk-', 'very-secret"}', name="f", id="t", input={}),
             stop="tool_use")),
    ("responses", "openai-responses", told("a", KEY[:3], KEY[3:8], KEY[8:] + "b")),
]  # fmt: skip


def told_of(raw: bytes, secret: str, api: str) -> str:
    """Return everything that is recorded and told, and all deltas put together."""
    sink = Kept()
    found = read_into(sink, raw, secret, api)
    answers = [assemble(found.assembly, choice) for choice in found.assembly.choices]
    names = "".join(part.name for part in found.assembly.parts.values())
    facts = [(event.event_type, event.payload) for event in sink.events]
    return repr([facts, answers, found.assembly.failure]) + names + "".join(deltas(sink.events))


@pytest.mark.parametrize(("api", "raw"), [pytest.param(*row[1:], id=row[0]) for row in LEAKS])
def test_nothing_holds_the_key(api: str, raw: bytes) -> None:
    """Neither events, nor deltas put together, nor the assembled message have the key."""
    assert KEY in told_of(raw, "", api), "without a key nothing is left out"
    assert KEY not in told_of(raw, KEY, api)


def test_only_deltas_with_the_key_change() -> None:
    """A piece that might have begun the key and did not stays as it is, also its place."""
    raw = chat(say("as", "k", "-", "sk-very-secre", "x", "sk-very", "-secret!"), usage(1, 2))
    _, plain = read(raw, "")
    _, trace = read(raw, KEY)
    assert [event.event_type for event in trace.events] == [e.event_type for e in plain.events]
    assert deltas(trace.events) == ["as", "k", "-", "sk-very-secre", "x", "***", "!"]
    assert not check_trace(trace).violations


@given(st.lists(st.text("ab", max_size=4).filter(bool)), st.integers(1, 40))
def test_however_a_text_is_cut(pieces: list[str], size: int) -> None:
    """What the deltas come to is the assembled text, and has the key nowhere."""
    found, trace = read(chat(say(*pieces)), "aba", size=size)
    text = "".join(deltas(trace.events))
    assert assemble(found.assembly, 0)["text"] == text
    assert "aba" not in text
    assert ("***" in text) is ("aba" in "".join(pieces))
