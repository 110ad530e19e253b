"""Server-sent events: the cases of the standard, wherever the bytes are cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracediff.streaming.sse import SseParser

BOM = "\ufeff"

# Named after the files of web-platform-tests (eventsource/), which test these rules of the HTML
# standard, 9.2.6; the texts are this project's own.
PLATFORM_TESTS = [
    pytest.param("data:a\ndata: b\n\n:\n\ndata\n\ndata:c\n\n", ["a\nb", "", "c"], id="event-data"),
    pytest.param(BOM + "data:a\n\n" + BOM + "data:b\n\ndata:c\n\n", ["a", "c"], id="format-bom"),
    pytest.param(BOM + BOM + "data:a\n\ndata:b\n\n", ["b"], id="format-bom-2"),
    pytest.param(
        "data:a\r:\0\n:\r\ndata:b\n:" + "-" * 3000 + "\rdata:c\n:data:d\n\n",
        ["a\nb\nc"],
        id="format-comments",
    ),
    pytest.param(
        "retry:9\ndata:a\n\nid:i\ndata:b", ["a"], id="format-data-before-final-empty-line"
    ),
    pytest.param("data:\n\ndata\ndata\n\ndata:a\n\n", ["", "\n", "a"], id="format-field-data"),
    pytest.param("event: \ndata:a\n\n", ["a"], id="format-field-event-empty"),
    pytest.param(
        "data:\0\ndata:  a\rDATA:b\ndata\0:c\nda-ta:d\rdata_e\n data:f\ndata:\r\ndata:g\n\n",
        ["\0\n a\n\ng"],
        id="format-field-parsing",
    ),
    pytest.param(
        "data:a\n data\ndata\nother:b\nword\n:comment\ndata:c\n\n",
        ["a\n\nc"],
        id="format-field-unknown",
    ),
    pytest.param("data:\ta\rdata: \ndata:b\n\n", ["\ta\n\nb"], id="format-leading-space"),
    pytest.param("data:a\r\ndata\ndata:b\r\n\r", ["a\n\nb"], id="format-newlines"),
    pytest.param("data:\0\n\n", ["\0"], id="format-null-character"),
    pytest.param("data:é…\n\n", ["é…"], id="format-utf-8"),
]


def read(raw: bytes, size: int | None = None) -> list[tuple[str, str, str]]:
    """Return type, data and last event id of every event, fed in pieces of `size` bytes."""
    parser = SseParser()
    size = size or max(len(raw), 1)
    pieces = [raw[start : start + size] for start in range(0, len(raw), size)]
    events = [event for piece in pieces for event in parser.feed(piece)]
    return [(event.event, event.text, event.last_event_id) for event in events]


@pytest.mark.parametrize("size", [None, 1, 2, 3], ids=["whole", "1", "2", "3"])
@pytest.mark.parametrize(("message", "data"), PLATFORM_TESTS)
def test_platform_cases(message: str, data: list[str], size: int | None) -> None:
    """The data of all events is what the platform tests expect, in pieces of any size."""
    assert [event[1] for event in read(message.encode(), size)] == data


@pytest.mark.parametrize(
    ("message", "events"),
    [
        pytest.param(
            "event:test\ndata:x\n\ndata:x\n\n", [("test", "x", ""), ("message", "x", "")],
            id="format-field-event",
        ),
        pytest.param(
            "id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n",
            [("message", "a", "1"), ("message", "b", "1"), ("message", "c", "")],
            id="format-field-id-2",
        ),
        pytest.param(
            "id: 1\ndata: a\n\nid: 2\n\ndata: b\n\n",
            [("message", "a", "1"), ("message", "b", "2")],
            id="format-field-id-without-data",
        ),
        pytest.param(
            "id: a\0b\ndata: x\n\nid: \0\0\ndata: y\n\n",
            [("message", "x", ""), ("message", "y", "")],
            id="format-field-id-null",
        ),
        pytest.param("event: gone\n\ndata: x\n\n", [("message", "x", "")], id="event-without-data"),
        pytest.param(
            "data: a\u0085b\u2028c\u2029d\x0b\x0ce\n\n",
            [("message", "a\u0085b\u2028c\u2029d\x0b\x0ce", "")],
            id="only-cr-and-lf-end-lines",
        ),
        pytest.param(
            "data: a\r\n\r\ndata: b\r\rdata: c\n\ndata: d\r\n\n",
            [("message", letter, "") for letter in "abcd"],
            id="mixed-line-ends",
        ),
        pytest.param(
            "\n\n\n\ndata: a\n\n\n\n\ndata: b\n\n", [("message", "a", ""), ("message", "b", "")],
            id="many-blank-lines",
        ),
        pytest.param("data:{\"a\":1}\n\n", [("message", "{\"a\":1}", "")], id="no-space"),
        pytest.param("data: a\nevent: late\n\n", [("late", "a", "")], id="data-before-event"),
        pytest.param("event: a\nevent: b\ndata: x\n\n", [("b", "x", "")], id="event-twice"),
        pytest.param("", [], id="nothing"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("size", [None, 1, 2], ids=["whole", "1", "2"])
def test_fields(message: str, events: list[tuple[str, str, str]], size: int | None) -> None:
    """Type, data and last event id are those of the standard."""
    assert read(message.encode(), size) == events


@pytest.mark.parametrize(
    ("message", "retry"),
    [
        pytest.param("retry:3000\n\n", 3000, id="format-field-retry"),
        pytest.param("retry:3000\nretry:1000x\n\n", 3000, id="format-field-retry-bogus"),
        pytest.param("retry\n\n", None, id="format-field-retry-empty"),
        pytest.param("retry: +5\n\nretry: -5\n\nretry:  5\n\n", None, id="signs-and-spaces"),
    ],
)
def test_retry(message: str, retry: int | None) -> None:
    """Only a run of digits is a reconnection time."""
    parser = SseParser()
    parser.feed(message.encode())
    assert parser.retry == retry


@pytest.mark.parametrize(
    ("message", "unfinished"),
    [
        pytest.param("data: a\n\n", False, id="whole"),
        pytest.param("data: a\n", True, id="no-blank-line"),
        pytest.param("data: a", True, id="inside-a-line"),
        pytest.param("data: a\n\nid: 1\n", True, id="only-an-id"),
        pytest.param("data: a\n\n: ping\n", False, id="a-whole-comment"),
        pytest.param("data: a\n\n: pi", True, id="half-a-comment"),
        pytest.param("data: a\r\n\r", True, id="half-a-line-end"),
        pytest.param("data: a\r\r", False, id="line-ends-of-cr"),
        pytest.param("data: a\n\n\n", False, id="three-line-ends"),
        pytest.param("\ufeff", False, id="only-a-mark"),
    ],
)
def test_unfinished(message: str, unfinished: bool) -> None:
    """What ends inside a line or an event is known to be unfinished."""
    parser = SseParser()
    parser.feed(message.encode())
    assert parser.is_unfinished is unfinished


def test_half_a_mark_is_unfinished() -> None:
    """The first bytes of a byte order mark are neither data nor nothing."""
    parser = SseParser()
    assert parser.feed(b"\xef\xbb") == []
    assert parser.is_unfinished
    assert [event.text for event in parser.feed(b"\xbfdata: a\n\n")] == ["a"]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param(b"\xf0\x9f\x98\x80", "😀", id="four-bytes"),
        pytest.param(b"a\xf0\x9f\x98", "a\ufffd", id="cut-character"),
        pytest.param(b"\xff\xc3(", "\ufffd\ufffd(", id="no-utf-8"),
        pytest.param(b"\xed\xa0\x80", "\ufffd\ufffd\ufffd", id="encoded-surrogate"),
    ],
)
def test_utf_8(data: bytes, text: str) -> None:
    """Characters may be cut by pieces; bytes that are none become U+FFFD as the standard has it."""
    for size in (None, 1, 2, 3):
        assert read(b"data: " + data + b"\n\n", size) == [("message", text, "")]


def test_a_long_line_in_small_pieces() -> None:
    """A line of 10 MB in ten thousand pieces is one event."""
    parser = SseParser()
    parser.feed(b"data: ")
    for _ in range(10_000):
        assert parser.feed(b"x" * 1000) == []
    (event,) = parser.feed(b"\n\n")
    assert event.data == b"x" * 10_000_000


WORDS = [
    *(b"data", b"event", b"id", b": ", b":", b" ", b"\n", b"\r", b"\r\n", b"\n\n", b"a", b"\0"),
    *(b"data: x", b"event: e", b"\xef\xbb\xbf", b"\xc3", b"\xa9", b"retry:1"),
]


def read_slowly(raw: bytes) -> list[tuple[str, str, str]]:
    """Read a whole stream as the standard's text says it, one line after the other."""
    text = raw.decode(errors="replace").removeprefix(BOM)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")[:-1]
    events, event, data, last_id = [], "", "", ""
    for line in lines:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if line == "":
            if data:
                events.append((event or "message", data.removesuffix("\n"), last_id))
            event = data = ""
        elif name == "event":
            event = value
        elif name == "data":
            data += value + "\n"
        elif name == "id" and "\0" not in value:
            last_id = value
    return events


@given(st.lists(st.sampled_from(WORDS)), st.integers(1, 7))
def test_equals_the_text_of_the_standard(words: list[bytes], size: int) -> None:
    """Any bytes in any pieces give the events that a line by line reading gives."""
    raw = b"".join(words)
    assert read(raw, size) == read_slowly(raw)
