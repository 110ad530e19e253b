"""Reads the content of an answer, streamed or whole, into an assembly.

Knows what the three layers above bytes have to do with each other: events, payloads, the answer.
Must not know HTTP. Nothing that arrives makes it raise: it ends with the answer, or with where and
why there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from tracediff.streaming.assembly import Assembly
from tracediff.streaming.dialects import Dialect
from tracediff.streaming.payload import NoJson, find_invalid, parse_payload
from tracediff.streaming.secret import redact
from tracediff.streaming.sse import SseEvent, SseParser
from tracediff.streaming.transfer import GZIP_START
from tracediff.streaming.volatile import settled

_UNEXPECTED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError)
"""What reading a payload may raise that has another form than its API gives it."""

DONE: Final = b"[DONE]"
PING: Final = "ping"
NO_FINISH: Final = "the answer has no finish reason"
_LONGEST_PING: Final = 64
"""Bytes that the data of one has at most, blanks and all."""
_UNNAMED: Final = "message"
"""The type of an event that names none."""

_SPACE: Final = b" \t\r\n\xef\xbb\xbf"
_LONGEST_SPACE: Final = 1 << 16
"""Bytes of blanks after which it does not matter any more what follows them."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One server-sent event: its number from 1, its type, and what its data is.

    `payload` is `json`, `done`, `empty` or `text`; `sequence_number` the API's own number of it.
    """

    number: int
    event: str
    payload: str
    sequence_number: int | None
    last_event_id: str


class AnswerReader:
    """Reads one answer; `feed` takes the body, decoded, in pieces of any size.

    `form` is `sse`, `json`, or None where the head does not say: then the first byte does.
    `fronted` says that its first byte is known to be the first one that was sent. `secret` is left
    out of everything that is read. `failure` is why the content cannot be read, `lacks_start`
    whether the beginning is missing, `pings` how many events only kept the connection open.
    """

    def __init__(
        self,
        dialect: Dialect,
        assembly: Assembly,
        *,
        form: str | None = None,
        fronted: bool = False,
        secret: str = "",
        on_frame: Callable[[Frame], None] | None = None,
    ) -> None:
        self.assembly = assembly
        self.events = 0
        self.pings = 0
        self.failure = ""
        self.lacks_start = False
        self._dialect = dialect
        self._tell = dialect.read
        self._names_events = dialect.names_events
        self._form = form
        self._fronted = fronted
        self._secret = secret
        self._on_frame = on_frame
        self._parser = SseParser(self._stray)
        self._strays = 0
        self._named = self._begins_unnamed = self._lacks_name = False
        self._start = b""
        self._settled = False
        self._document: list[bytes] = []

    @property
    def form(self) -> str | None:
        """`sse` or `json`, None while that is not known."""
        return self._form

    @property
    def comments(self) -> int:
        """How many comment lines came."""
        return self._parser.comments

    def feed(self, content: bytes) -> None:
        """Read the next piece."""
        if not self._settled:
            content = self._settle(content)
        if self.failure or not content:
            return
        if self._form == "json":
            self._document.append(content)
            return
        for event in self._parser.feed(content):
            self._read(event)

    def close(self, *, proved: bool) -> str:
        """Read what was waiting for the end; return why the answer is not whole, else "".

        `proved` says that the transport itself vouches for the end of the body.
        """
        if not self._settled and not self.failure:
            return "the body is empty"
        reason = self.failure
        if not reason:
            reason = self._close_json() if self._form == "json" else self._close_sse(proved)
        self.assembly.flush()
        return reason

    def _settle(self, content: bytes) -> bytes:
        """Decide by the first bytes what is read; return them when that is done."""
        self._start += content
        visible = self._start.lstrip(_SPACE)
        is_open = not visible or visible == GZIP_START[:1]
        if is_open and len(self._start) < _LONGEST_SPACE:
            return b""
        self._settled = True
        if visible.startswith(GZIP_START):
            self.failure = "the body is compressed twice, or its head does not say how"
        elif visible.startswith(b"<"):
            self.failure = "the body is a page of HTML or XML and no answer of an API"
        elif self._form is None:
            self._form = "json" if visible.startswith((b"{", b"[")) else "sse"
        start, self._start = self._start, b""
        return start

    def _read(self, event: SseEvent) -> None:
        assembly, name, data = self.assembly, event.event, event.data
        kind = "json"
        try:
            payload = redact(parse_payload(data), self._secret)
        except NoJson:
            payload = redact(data.decode(errors="surrogateescape"), self._secret)
            kind = "done" if data.strip() == DONE else "text" if data.strip() else "empty"
        is_short = len(data) <= _LONGEST_PING
        if is_short and assembly.terminator is None and _is_ping(name, kind, payload):
            self.pings += 1
            return
        self.events += 1
        assembly.event = self.events
        if not (data.isascii() and name.isascii()):
            self._check_characters(name, data)
        if self._on_frame is not None:
            self._on_frame(_frame(self.events, event, kind, payload, self._secret))
        if kind == "done":
            self._done()
        elif assembly.terminator is not None:
            assembly.violate("event-after-end")
            assembly.keep(0, "data behind the end", settled(payload))
        elif kind == "json":
            self._tell_payload(payload, name)
        elif kind == "text":
            assembly.violate("data-is-no-json")
            assembly.keep(0, "data", payload)

    def _tell_payload(self, payload: Any, name: str) -> None:
        assembly = self.assembly
        if self._names_events and (name == _UNNAMED or not self._named):
            self._count_name(name)
        try:
            self._tell(payload, name, assembly)
        except _UNEXPECTED:
            assembly.violate("unexpected-form" if type(payload) is dict else "data-is-no-object")
            assembly.keep(0, "data", settled(payload))

    def _count_name(self, name: str) -> None:
        if name != _UNNAMED:
            self._named = True
        elif self._named:
            self._lacks_name = True
        else:
            self._begins_unnamed = True

    def _check_characters(self, name: str, data: bytes) -> None:
        """Note bytes that are no UTF-8: as text, different ones of them read the same."""
        invalid = find_invalid(data)
        if invalid:
            self.assembly.leave_unread(invalid)
        if invalid or "\ufffd" in name:
            self.assembly.violate("invalid-utf-8")

    def _stray(self, line: bytes) -> None:
        """Note a line that the standard ignores and no server writes: the rest of a lost event."""
        self.assembly.leave_unread(line)
        self._strays += 1

    def _done(self) -> None:
        """Read `[DONE]`, which some servers send behind every other end too."""
        assembly = self.assembly
        if assembly.terminator is None:
            assembly.end(DONE.decode())
        elif assembly.terminator == DONE.decode():
            assembly.violate("duplicate-end")

    def _close_sse(self, proved: bool) -> str:
        assembly = self.assembly
        if self._parser.is_unfinished:
            if not proved:
                return "it ends inside an event"
            assembly.event = self.events + 1
            assembly.violate("unfinished-last-event")
        if not self.events:
            return "the body holds no event"
        if not assembly.recognised:
            return f"no event has the form of {self._dialect.name}"
        return self._judge_start() or self._judge_end(proved)

    def _judge_start(self) -> str:
        """Return why the beginning is missing, "" where it is there, or proved to be as it came."""
        assembly = self.assembly
        first = assembly.event
        is_late_name = self._begins_unnamed and self._named
        reason = ""
        if self._parser.begins_astray:
            reason = "it begins inside an event: its first line is none of an event stream"
        elif assembly.lacks_start:
            reason = f"it begins without {self._dialect.start}"
        elif is_late_name:
            reason = "it begins inside an event: its first event alone has no name"
        if reason and not self._fronted:
            self.lacks_start = True
            return reason
        assembly.event = 1
        if assembly.lacks_start:
            assembly.violate("missing-start")
        if self._lacks_name or is_late_name:
            assembly.violate("missing-event-name")
        if self._strays:
            assembly.violate("unknown-line")
        assembly.event = first
        return ""

    def _judge_end(self, proved: bool) -> str:
        assembly = self.assembly
        is_finished = assembly.is_finished or assembly.failure is not None
        if assembly.terminator is not None:
            return "" if is_finished else NO_FINISH
        if proved and is_finished:
            assembly.violate("missing-terminator")
            return ""
        missing = self._dialect.terminator
        return f"it ends without {missing}" + ("" if is_finished else " or a finish reason")

    def _close_json(self) -> str:
        content = b"".join(self._document).strip(_SPACE)
        try:
            payload = redact(parse_payload(content), self._secret)
        except NoJson:
            return "the body is no whole JSON document"
        assembly = self.assembly
        self._check_characters("", content)
        if isinstance(payload, dict):
            try:
                self._dialect.read_whole(payload, assembly)
            except _UNEXPECTED:
                assembly.violate("unexpected-form")
                assembly.keep(0, "data", settled(payload))
        if not assembly.recognised:
            return f"the body has not the form of {self._dialect.name}"
        if assembly.failure is None and not assembly.is_finished:
            return NO_FINISH
        return ""


def _is_ping(name: str, kind: str, payload: Any) -> bool:
    """Whether an event only keeps the connection open, which servers do by the clock."""
    if kind == "empty":
        return name == PING
    return name in (PING, _UNNAMED) and bool(payload == {"type": PING})


def _frame(number: int, event: SseEvent, kind: str, payload: Any, secret: str) -> Frame:
    sequence = payload.get("sequence_number") if isinstance(payload, dict) else None
    sequence = sequence if type(sequence) is int else None
    name, last = redact(event.event, secret), redact(event.last_event_id, secret)
    return Frame(number, name, kind, sequence, last)
