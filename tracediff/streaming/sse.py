"""Server-sent events: turns bytes, cut anywhere, into events as the HTML standard says.

Knows the event stream format (HTML Living Standard, 9.2.6) and nothing of what events carry. None
of the parsers that could be had keeps all of its cases: httpx-sse 0.4.3 dispatches events without
data and keeps a byte order mark, sseclient-py 1.9 dispatches an unfinished last event.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

_BOM: Final = b"\xef\xbb\xbf"
_DEFAULT_EVENT: Final = "message"
_FIELDS: Final = (b"data", b"event", b"id", b"retry")


class SseEvent(NamedTuple):  # one is made for every event: a dataclass costs three times that
    """One dispatched event: its type, its data as UTF-8 bytes, the last event id at that time."""

    event: str
    data: bytes
    last_event_id: str

    @property
    def text(self) -> str:
        """The data as text; bytes that are no UTF-8 become U+FFFD."""
        return self.data.decode(errors="replace")


_make: Final = partial(tuple.__new__, SseEvent)  # half the time of calling the class


class SseParser:
    """Reads one event stream. `feed` takes its bytes in pieces of any size.

    Lines end with LF, CR or CRLF and with nothing else, so that a piece may end inside a line end,
    a character or the byte order mark. Time is linear in the bytes, also for data of one long line.
    `retry` is the last reconnection time in milliseconds, `comments` counts comment lines. The
    standard ignores lines of other names: `on_stray` gets them, `begins_astray` says that the first
    line of all is one.
    """

    def __init__(self, on_stray: Callable[[bytes], None] | None = None) -> None:
        self._on_stray = on_stray
        self._has_begun = False
        self.begins_astray = False
        self.retry: int | None = None
        self.comments = 0
        self.last_event_id = ""
        self._head: bytes | None = b""  # what may be the byte order mark, None once it is past
        self._begun: list[bytes] = []  # the parts of an event whose blank line has not come yet
        self._line_ended = False
        self._after_return = False
        self._pairs = False

    @property
    def is_unfinished(self) -> bool:
        """Whether what came ends inside a line, an event, or the line end of its CRLF lines."""
        *lines, last = b"".join(self._begun).split(b"\n")
        has_fields = any(line and not line.startswith(b":") for line in lines)
        return bool(self._head or last) or has_fields or (self._after_return and self._pairs)

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Return the events that are complete with `chunk`."""
        if self._head is not None:
            chunk = self._without_mark(chunk)
        if self._after_return and chunk:
            # The other half of a CRLF whose first half ended a line already.
            self._after_return = False
            if chunk.startswith(b"\n"):
                self._pairs = True
                chunk = chunk[1:]
        if b"\r" in chunk:
            self._after_return = chunk.endswith(b"\r")
            self._pairs = self._pairs or b"\r\n" in chunk
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if not chunk:
            return []
        self._begun.append(chunk)
        if b"\n\n" not in chunk and not (self._line_ended and chunk.startswith(b"\n")):
            self._line_ended = chunk.endswith(b"\n")
            return []
        *blocks, last = b"".join(self._begun).split(b"\n\n")
        self._begun = [last]
        self._line_ended = last.endswith(b"\n")
        return self._read(blocks)

    def _without_mark(self, chunk: bytes) -> bytes:
        """Return what follows a byte order mark, nothing while that may still be coming."""
        assert self._head is not None
        start = self._head + chunk
        if len(start) < len(_BOM) and _BOM.startswith(start):
            self._head = start
            return b""
        self._head = None
        return start.removeprefix(_BOM)

    def _read(self, blocks: list[bytes]) -> list[SseEvent]:
        """Return the events of what stands between blank lines; most have one of two forms."""
        found: list[SseEvent] = []
        for block in blocks:
            name, rest = b"", block
            if block.startswith(b"event: "):
                name, _, rest = block.partition(b"\n")
            if rest.startswith(b"data: ") and b"\n" not in rest:
                self._has_begun = True
                event = name[7:].decode(errors="replace") if name else ""
                found.append(_make((event or _DEFAULT_EVENT, rest[6:], self.last_event_id)))
                continue
            other = self._read_lines(block.split(b"\n"))
            if other is not None:
                found.append(other)
        return found

    def _read_lines(self, lines: list[bytes]) -> SseEvent | None:
        """Return the event of lines of any form, None where they hold no data."""
        event, data = "", []
        for line in lines:
            name, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if name == b"data":
                data.append(value)
            elif name == b"event":
                event = value.decode(errors="replace")
            elif name == b"id" and b"\0" not in value:
                self.last_event_id = value.decode(errors="replace")
            elif name == b"retry" and value.isdigit():
                self.retry = int(value[:18])
            elif line and not name:
                self.comments += 1
            elif line and name not in _FIELDS:
                self._stray(line)
            self._has_begun = self._has_begun or bool(line)
        if not data:
            return None
        return SseEvent(event or _DEFAULT_EVENT, b"\n".join(data), self.last_event_id)

    def _stray(self, line: bytes) -> None:
        self.begins_astray = self.begins_astray or not self._has_begun
        if self._on_stray is not None:
            self._on_stray(line)
