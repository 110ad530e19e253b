"""Captures that are no answer: one reason each, with its place, and never an exception."""

import json
import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streaming.reading import recorded, traced
from streaming.wire import DONE, block, chat, chunked, event, http, message, packed, say

from tracediff.streaming.dialects import DIALECTS

CHAT = chat(say("Hello"))
PAGE = b"<!doctype html><html><body>502 Bad Gateway</body></html>"
CHUNKED = "Transfer-Encoding: chunked"
GZIP = "Content-Encoding: gzip"
LENGTH = f"Content-Length: {len(CHAT)}"


@pytest.mark.parametrize(
    ("raw", "reason", "byte"),
    [
        pytest.param(b"", "the capture is empty", 0, id="nothing"),
        pytest.param(b"\n\n  ", "the body is empty", 4, id="blank"),
        pytest.param(http(b""), "the body is empty", len(http(b"")), id="empty-body"),
        pytest.param(
            message(block(0, "text", "a")), "no event has the form of openai-chat", None,
            id="another-api",
        ),
        pytest.param(
            event({"hello": 1}) + DONE, "no event has the form of openai-chat", None,
            id="unknown-form",
        ),
        pytest.param(
            b'{"hello": 1}', "the body has not the form of openai-chat", 12, id="unknown-json"
        ),
        pytest.param(
            b'{"choices":[{"message":{"content":"a"}}]}', "the answer has no finish reason", None,
            id="json-without-finish",
        ),
        pytest.param(b"hello\nworld\n", "it ends inside an event", 12, id="plain-text"),
        pytest.param(PAGE, "the body is a page of HTML or XML and no answer of an API", 0,
                     id="page"),
        pytest.param(
            http(PAGE, "Content-Type: text/html"), "content type 'text/html'",
            len(http(b"", "Content-Type: text/html")), id="page-with-200",
        ),
        pytest.param(
            http(PAGE), "the body is a page of HTML", len(http(b"")), id="page-as-event-stream"
        ),
        pytest.param(
            http(CHAT, "Content-Type: application/octet-stream"), "content type", None,
            id="another-content-type",
        ),
        pytest.param(
            http(CHAT, "Content-Type: application/json"), "the body is no whole JSON document",
            None, id="stream-as-json",
        ),
        pytest.param(
            http(b'{"choices":[]}'), "it ends inside an event", None, id="json-as-stream"
        ),
        pytest.param(
            http(CHAT, "Location: /x", status="307 Temporary Redirect"), "points elsewhere", None,
            id="redirect",
        ),
        pytest.param(
            http(PAGE, "Content-Type: text/html", status="502 Bad Gateway"), "answers 502", None,
            id="error-page",
        ),
        pytest.param(
            http(b'{"detail":"Not Found"}', "Content-Type: application/json", status="404 X"),
            "the server answers 404, and the body has not the form of openai-chat", None,
            id="error-of-no-api",
        ),
        pytest.param(
            b'{"object":"response","status":"in_progress","output":[]}',
            "has not the form of openai-chat", None, id="another-api-not-streamed",
        ),
        pytest.param(
            packed(http(CHAT))[:-9], "the compressed capture ends before its end",
            len(packed(http(CHAT))) - 9, id="packed-file-cut-short",
        ),
        pytest.param(
            packed(CHAT)[:10] + b"\xff" * 50, "this is no gzip data", 0, id="broken-file"
        ),
        pytest.param(b" " * 100_000, "it ends inside an event", 100_000, id="many-blanks"),
        pytest.param(packed(packed(CHAT)), "the body is compressed twice", None, id="packed-twice"),
        pytest.param(
            http(packed(packed(CHAT)), GZIP), "the body is compressed twice", None,
            id="packed-twice-told-once",
        ),
        pytest.param(
            http(packed(CHAT)), "the body is compressed twice, or its head does not say how",
            None, id="packed-and-not-told",
        ),
        pytest.param(
            http(packed(CHAT)[:10] + b"\xff" * 50, GZIP), "this is no gzip data",
            len(http(b"", GZIP)), id="broken-gzip",
        ),
        pytest.param(
            http(b"\x01\x02\x03\x04\x05\x06\x07", GZIP), "this is no gzip data", None, id="no-gzip"
        ),
        pytest.param(
            http(b"\x1b\x02\x03\x04\x05\x06", "Content-Encoding: br"),
            "the content encoding br is not understood", None, id="brotli",
        ),
        pytest.param(
            http(b"5\r\nhello, world\r\n", CHUNKED), "a chunk is longer than its size says",
            len(http(b"", CHUNKED)) + 8, id="chunk-of-another-size",
        ),
        pytest.param(
            http(b"5\r\nhello\r\nxyz\r\n", CHUNKED), "this is no size of a chunk",
            len(http(b"", CHUNKED)) + 10, id="no-chunk-size",
        ),
        pytest.param(
            http(chunked(CHAT) + b"more", CHUNKED), "bytes follow the last chunk", None,
            id="bytes-behind-the-last-chunk",
        ),
        pytest.param(
            http(CHAT + b"more", LENGTH), f"has {len(CHAT) + 4} bytes where its head says", None,
            id="longer-than-stated",
        ),
        pytest.param(
            http(CHAT[:-1], LENGTH), f"the body has {len(CHAT) - 1} of {len(CHAT)} bytes", None,
            id="shorter-than-stated",
        ),
        pytest.param(b"HTTP/1.1 abc\r\n\r\n", "the first line is no HTTP status line", 0,
                     id="no-status"),
        pytest.param(b"HTTP/1.1 200 OK\r\nA: b\r\n", "it ends inside the HTTP head", 23,
                     id="half-a-head"),
        pytest.param(b"HTTP/1.1 200 OK\r\n" + b"x" * 300_000, "the HTTP head is longer", 0,
                     id="endless-head"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("size", [None, 1000], ids=["whole", "pieces"])
def test_no_answer(raw: bytes, reason: str, byte: int | None, size: int | None) -> None:
    """What is no answer is incomplete for one reason, at the byte where that shows."""
    found = recorded(raw, size=size).incomplete
    assert found is not None
    assert reason in found.reason
    if byte is not None and (size is None or byte < size):
        assert found.byte == byte


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(http(CHAT), id="head"),
        pytest.param(http(CHAT, LENGTH), id="length"),
        pytest.param(http(chunked(CHAT, 1), CHUNKED), id="chunks-of-a-byte"),
        pytest.param(http(chunked(CHAT, 10_000), CHUNKED), id="one-chunk"),
        pytest.param(
            http(chunked(CHAT).replace(b"32\r\n", b"32 ;a=b\r\n"), CHUNKED), id="chunk-extension"
        ),
        pytest.param(
            http(chunked(CHAT)[:-2] + b"Trailer: x\r\n\r\n", CHUNKED), id="trailer-of-chunks"
        ),
        pytest.param(http(packed(CHAT), GZIP), id="gzip"),
        pytest.param(http(packed(CHAT[:90]) + packed(CHAT[90:]), GZIP), id="two-gzip-members"),
        pytest.param(http(zlib.compress(CHAT), "Content-Encoding: deflate"), id="deflate"),
        pytest.param(
            http(zlib.compress(CHAT)[2:-4], "Content-Encoding: deflate"), id="bare-deflate"
        ),
        pytest.param(
            http(packed(packed(CHAT)), "Content-Encoding: gzip, gzip"), id="packed-twice-and-told"
        ),
        pytest.param(
            http(chunked(packed(CHAT), 1), CHUNKED, GZIP), id="chunks-of-a-byte-of-gzip"
        ),
        pytest.param(http(CHAT, CHUNKED, GZIP, LENGTH), id="printed-by-curl"),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n" + http(CHAT), id="interim-head"),
        pytest.param(http(CHAT).replace(b"\r\n", b"\n"), id="head-with-lf"),
        pytest.param(packed(http(CHAT)), id="file-packed-with-its-head"),
        pytest.param(
            b"HTTP/1.1 200 Connection established\r\n\r\n" + http(CHAT), id="through-a-proxy"
        ),
        pytest.param(packed(http(packed(CHAT), GZIP)), id="file-packed-and-body-packed"),
        pytest.param(http(CHAT, "content-TYPE:text/event-stream"), id="field-in-any-case"),
        pytest.param(b"HTTP/2 200\r\ncontent-type: text/event-stream\r\n\r\n" + CHAT, id="http-2"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("size", [None, 1, 3], ids=["whole", "1", "3"])
def test_packed_answers(raw: bytes, size: int | None) -> None:
    """Heads, chunks and compression are taken off, wherever the bytes are cut."""
    found = recorded(raw, size=size)
    assert found.incomplete is None
    assert found.assembly.part(0, "text", 0).text == "Hello"


def test_the_head_of_a_packed_file_is_read() -> None:
    """A capture that was compressed as a file keeps its head, and so its status."""
    failed = http(CHAT, status="500 Internal Server Error")
    started = [e for e in traced(packed(failed)).events if e.event_type == "response.started"]
    assert [e.payload["choice"]["status"] for e in started] == [500]


@pytest.mark.parametrize("status", ["in_progress", "queued"])
def test_a_response_that_is_not_there_yet(status: str) -> None:
    """A response without a finish reason is not whole, as in the other APIs."""
    body = json.dumps({"object": "response", "status": status, "output": []}).encode()
    found = recorded(body, "openai-responses").incomplete
    assert found is not None
    assert found.reason == "the answer has no finish reason"


@pytest.mark.parametrize("api", ["openai-chat", "openai-responses"])
def test_an_error_of_old(api: str) -> None:
    """An error that stands at the top of the body is one too, with its words."""
    body = b'{"object":"error","message":"too long","type":"BadRequestError","code":400}'
    found = recorded(body, api)
    assert found.incomplete is None
    assert found.assembly.failure is not None
    assert found.assembly.failure.message == "too long"


def test_a_bomb_takes_no_memory() -> None:
    """A few bytes that unpack to a hundred million are read in pieces."""
    packer = zlib.compressobj(9, wbits=31)
    bomb = b"".join(packer.compress(b": " + b"x" * 999_998) for _ in range(100)) + packer.flush()
    found = recorded(bomb).incomplete
    assert found is not None
    assert found.reason == "it ends inside an event"


@given(st.binary(max_size=300), st.sampled_from(sorted(DIALECTS)), st.integers(1, 40))
def test_any_bytes(raw: bytes, api: str, size: int) -> None:
    """Bytes of any kind raise nothing and are incomplete."""
    assert recorded(raw, api, size=size).incomplete is not None


@pytest.mark.parametrize("api", DIALECTS)
def test_damaged_captures(api: str) -> None:
    """A capture in which bytes were changed raises nothing, whatever it comes to."""
    from streaming.test_captures import ROWS

    chance = random.Random(0)
    for row in ROWS[api]:
        for _ in range(20):
            raw = bytearray(row[1])
            for _ in range(chance.randrange(1, 6)):
                raw[chance.randrange(len(raw))] = chance.choice(b'{}[]":,0n\n\\ \xff')
            recorded(bytes(raw), api)


@given(
    st.sampled_from(sorted(DIALECTS)),
    st.lists(
        st.recursive(
            st.sampled_from([None, 0, -1, 2**70, 0.5, True, "", "a", "\ud800", "text", "stop"]),
            lambda inner: st.one_of(
                st.lists(inner, max_size=2),
                st.dictionaries(
                    st.sampled_from(
                        ["type", "choices", "delta", "index", "content", "tool_calls", "function",
                         "arguments", "name", "id", "finish_reason", "usage", "error", "message",
                         "content_block", "response", "output", "item", "model", "logprobs",
                         "completion_tokens", "status", "text", "stop_reason", "top_logprobs"]
                    ),
                    inner,
                    max_size=4,
                ),
            ),
            max_leaves=12,
        ),
        max_size=4,
    ),
    st.sampled_from(["content_block_start", "content_block_delta", "message_delta",
                     "response.completed", "response.output_text.delta", "response.x", "error"]),
)  # fmt: skip
def test_payloads_of_any_form(api: str, payloads: list[object], kind: str) -> None:
    """JSON of any form in any place raises nothing."""
    typed = [{**p, "type": kind} if isinstance(p, dict) else p for p in payloads]
    recorded(b"".join(event(json.dumps(payload)) for payload in [*payloads, *typed]) + DONE, api)
