"""The command import sse: captures become traces, or say where they break off."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streaming.wire import (
    block,
    call,
    chat,
    chunk,
    chunked,
    event,
    http,
    message,
    packed,
    say,
    usage,
)

Command = Callable[..., Any]
CHAT = chat(say("Hel", "lo"), usage(3, 2))


def run(tracediff: Command, folder: Path, raw: bytes, *arguments: str, name: str = "a") -> Any:
    """Import a capture into `name`.jsonl."""
    (folder / f"{name}.sse").write_bytes(raw)
    api = () if "--api" in arguments else ("--api", "openai-chat")
    return tracediff("import", "sse", f"{name}.sse", "-o", f"{name}.jsonl", *api, *arguments)


def test_a_whole_capture(tracediff: Command, tmp_path: Path) -> None:
    """The summary says what was answered, and the trace can be checked and shown."""
    done = run(tracediff, tmp_path, CHAT)
    assert (done.status, done.err) == (0, "")
    assert "Hello" in done.out
    assert "finish       stop" in done.out
    assert "a.jsonl" in done.out
    assert tracediff("check", "a.jsonl").status == 0
    shown = tracediff("show", "a.jsonl").out
    assert shown.count("stream.delta") == 2


def test_two_captures_are_compared(tracediff: Command, tmp_path: Path) -> None:
    """The same text in other pieces diverges as chunking, and is equal when joined."""
    run(tracediff, tmp_path, CHAT)
    run(tracediff, tmp_path, chat(say("Hello"), usage(3, 2)), name="b")
    done = tracediff("diff", "a.jsonl", "b.jsonl", "--json")
    assert done.status == 1
    cause = json.loads(done.out)["cause"]
    assert cause["kind"] == "transport-chunking"
    assert cause["evidence"]["top_differs"] is False
    assert tracediff("diff", "a.jsonl", "b.jsonl", "--view", "joined-text").status == 0


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(
            http(chunked(packed(CHAT)), "Transfer-Encoding: chunked", "Content-Encoding: gzip"),
            id="chunked-and-packed",
        ),
        pytest.param(http(CHAT), id="head-alone"),
    ],
)
def test_heads(raw: bytes, tracediff: Command, tmp_path: Path) -> None:
    """Chunks and compression are taken off where the head says so."""
    done = run(tracediff, tmp_path, raw)
    assert done.status == 0
    assert "Hello" in done.out
    assert '"content_type":"text/event-stream"' in (tmp_path / "a.jsonl").read_text("utf-8")


def test_standard_input(tracediff: Command, tmp_path: Path) -> None:
    """- is standard input."""
    done = tracediff(
        "import", "sse", "-", "--api", "openai-chat", "-o", "a.jsonl", "--json", stdin=CHAT
    )
    found = json.loads(done.out)
    assert (done.status, found["outcome"], found["result"]) == (0, "complete", "Hello")
    assert found["usage"] == {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}


def test_reading_twice_gives_the_same_bytes(tracediff: Command, tmp_path: Path) -> None:
    """A capture gives one trace, byte for byte, whether read from a file or a pipe."""
    run(tracediff, tmp_path, CHAT)
    tracediff("import", "sse", "-", "--api", "openai-chat", "-o", "b.jsonl", stdin=CHAT)
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_request(tracediff: Command, tmp_path: Path) -> None:
    """With the request the finish reason is the exact one, and settings are compared."""
    (tmp_path / "r.json").write_text('{"model":"m","max_tokens":2,"messages":[]}')
    raw = chat(say("Hel", "lo"), usage(3, 2), finish="length")
    done = run(tracediff, tmp_path, raw, "--request", "r.json", "--json")
    assert json.loads(done.out)["finish"] == "max_tokens"
    assert '"max_tokens":2' in (tmp_path / "a.jsonl").read_text("utf-8").splitlines()[0]


def test_a_broken_rule(tracediff: Command, tmp_path: Path) -> None:
    """A stream that breaks a rule of its API is recorded, and the status is 1."""
    done = run(tracediff, tmp_path, CHAT + event("[DONE]"))
    assert done.status == 1
    assert "stream-keeps-its-protocol: duplicate-end" in done.out


def test_tool_calls_and_messages(tracediff: Command, tmp_path: Path) -> None:
    """Other APIs and tool calls are summed up too."""
    use = block(0, "tool_use", '{"city":"Paris"}', name="weather", id="t", input={})
    raw = message(use, stop="tool_use")
    done = run(tracediff, tmp_path, raw, "--api", "anthropic-messages", "--json")
    found = json.loads(done.out)
    assert found["tool_calls"] == ['weather {"city":"Paris"}']
    assert found["finish"] == "tool_call"
    broken = chat(call(0, call_id="c", name="f", arguments="{"), finish="tool_calls")
    assert run(tracediff, tmp_path, broken, name="b").status == 1


def test_a_refusal_is_called_one(tracediff: Command, tmp_path: Path) -> None:
    """The summary says that the answer is a refusal."""
    done = run(tracediff, tmp_path, chat(chunk({"refusal": "I cannot."})))
    assert "refusal      I cannot." in done.out


def test_a_missing_front(tracediff: Command, tmp_path: Path) -> None:
    """A capture that lacks its first bytes is not whole either."""
    done = run(tracediff, tmp_path, CHAT[50:])
    assert done.status == 2
    assert "is incomplete at byte 0, after 0 events: it begins inside an event" in done.err


def test_incomplete(tracediff: Command, tmp_path: Path) -> None:
    """A capture that breaks off leaves a partial trace, one line with the place, and status 2."""
    done = run(tracediff, tmp_path, CHAT[:500])
    assert (done.status, done.out) == (2, "")
    assert done.err == (
        "tracediff: a.sse is incomplete at byte 500, after 2 events: it ends inside an event; what "
        "was read is in a.jsonl.partial, which compares as incomplete\n"
    )
    run(tracediff, tmp_path, CHAT[:500], name="b")
    found = tracediff("diff", "a.jsonl.partial", "b.jsonl.partial", "--json")
    assert (found.status, json.loads(found.out)["outcome"]) == (2, "incomplete")


def test_incomplete_beside_an_older_trace(tracediff: Command, tmp_path: Path) -> None:
    """What was recorded earlier under the name stays, and the message says so."""
    run(tracediff, tmp_path, CHAT)
    done = run(tracediff, tmp_path, CHAT[:-1], "--json")
    assert done.status == 2
    assert done.err.endswith("; a.jsonl is of an earlier recording\n")
    found = json.loads(done.out)
    assert (found["outcome"], found["byte"]) == ("incomplete", len(CHAT) - 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("missing.sse", "--api", "openai-chat", "-o", "a.jsonl"), "missing.sse",
                     id="no-file"),
        pytest.param(("a.sse", "--api", "openai", "-o", "a.jsonl"), "no API 'openai'", id="api"),
        pytest.param(("a.sse", "--api", "openai-chat", "-o", "-"), "name of a file", id="stdout"),
        pytest.param(("a.sse", "--api", "openai-chat", "-o", "no/a.jsonl"), "no does not exist",
                     id="no-folder"),
        pytest.param(("a.sse", "--api", "openai-chat", "-o", "a.jsonl", "--request", "a.sse"),
                     "a.sse is no JSON document", id="request-that-is-none"),
    ],
)  # fmt: skip
def test_wrong_requests(
    arguments: tuple[str, ...], message: str, tracediff: Command, tmp_path: Path
) -> None:
    """A request that cannot be carried out is one line and status 2, and writes nothing."""
    (tmp_path / "a.sse").write_bytes(CHAT)
    done = tracediff("import", "sse", *arguments)
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert done.err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.sse"]
