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
from tracediff.streaming.payload import NoJson, parse_payload
from tracediff.streaming.sse import SseEvent, SseParser
from tracediff.streaming.transfer import GZIP_START

_UNEXPECTED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError)
"""What reading a payload may raise that has another form than its API gives it."""

DONE: Final = b"[DONE]"
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
    `secret` is left out of everything that is read. `failure` is why the content cannot be read.
    """

    def __init__(
        self,
        dialect: Dialect,
        assembly: Assembly,
        *,
        form: str | None = None,
        secret: str = "",
        on_frame: Callable[[Frame], None] | None = None,
    ) -> None:
        self.assembly = assembly
        self.events = 0
        self.failure = ""
        self._dialect = dialect
        self._tell = dialect.read
        self._form = form
        self._secret = secret.encode()
        self._on_frame = on_frame
        self._parser = SseParser()
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
        self.events += 1
        assembly = self.assembly
        assembly.event = self.events
        name, data, _ = event
        if self._secret and self._secret in data:
            data = data.replace(self._secret, b"***")
        kind = "json"
        try:
            payload = parse_payload(data)
        except NoJson:
            payload = None
            kind = "done" if data.strip() == DONE else "text" if data.strip() else "empty"
        if self._on_frame is not None:
            self._on_frame(_frame(self.events, event, kind, payload))
        if kind == "json" and assembly.terminator is None:
            try:
                self._tell(payload, name, assembly)
            except _UNEXPECTED:
                assembly.violate(
                    "unexpected-form" if type(payload) is dict else "data-is-no-object"
                )
        elif kind == "done":
            self._done()
        elif assembly.terminator is not None:
            assembly.violate("event-after-end")
        elif kind == "text":
            assembly.violate("data-is-no-json")

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
        if assembly.terminator is not None:
            if assembly.failure is None and not assembly.is_finished:
                assembly.violate("missing-finish")
            return ""
        if proved and assembly.is_finished:
            assembly.violate("missing-terminator")
            return ""
        missing = self._dialect.terminator
        return f"it ends without {missing}" + (
            "" if assembly.is_finished else " or a finish reason"
        )

    def _close_json(self) -> str:
        content = b"".join(self._document).strip(_SPACE)
        if self._secret:
            content = content.replace(self._secret, b"***")
        try:
            payload = parse_payload(content)
        except NoJson:
            return "the body is no whole JSON document"
        assembly = self.assembly
        if isinstance(payload, dict):
            try:
                self._dialect.read_whole(payload, assembly)
            except _UNEXPECTED:
                assembly.violate("unexpected-form")
        if not assembly.recognised:
            return f"the body has not the form of {self._dialect.name}"
        if assembly.failure is None and not assembly.is_finished:
            return "the answer has no finish reason"
        return ""


def _frame(number: int, event: SseEvent, kind: str, payload: Any) -> Frame:
    sequence = payload.get("sequence_number") if isinstance(payload, dict) else None
    sequence = sequence if type(sequence) is int else None
    return Frame(number, event.event, kind, sequence, event.last_event_id)
