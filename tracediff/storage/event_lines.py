"""One line of a file as one event, and what a line that is none is called.

Knows damage within a line; must not know the rules across events.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tracediff.errors import CorruptTrace, IncompleteTrace, InvalidTrace, Place, TraceError
from tracediff.events.boundaries import count_events
from tracediff.events.event import FORMAT, Event
from tracediff.events.text import shorten
from tracediff.events.validity import InvalidField, event_from_json
from tracediff.storage.exact_json import JsonSyntaxError, parse_json
from tracediff.storage.lines import Line

Warn = Callable[[str], None]

BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_FOREIGN_STARTS: Final = (
    (b"\x1f\x8b", "it is gzip-compressed; such a file's name must end in .gz"),
    (b"\x28\xb5\x2f\xfd", "it is Zstandard-compressed; such a file's name must end in .zst"),
    (b"\xff\xfe", "it is UTF-16, as PowerShell's > writes it; a trace is UTF-8"),
    (b"\xfe\xff", "it is UTF-16; a trace is UTF-8"),
)
_SPREAD_STARTS: Final = (b"{", b"[", b"[{")
"""First lines of JSON that was printed for people."""


class LineParser:
    """Turns the lines of one file into events, in order, and remembers how far it came."""

    def __init__(self, name: str, warn: Warn) -> None:
        self._name = name
        self._warn = warn
        self._warned_of_returns = False
        self._events = 0
        self._last_id = ""
        self._number = 1
        self._offset = 0

    @property
    def next_place(self) -> Place:
        """Where the line after the last one parsed starts."""
        return Place(self._name, self._number, self._offset)

    @property
    def progress(self) -> str:
        """How many events were read, for the message about what follows."""
        if not self._events:
            return "no event comes before it"
        comes = "comes" if self._events == 1 else "come"
        last = shorten(self._last_id)
        return f"{count_events(self._events)} {comes} before it, the last is {last}"

    def parse(self, line: Line) -> tuple[Event, bytes]:
        """Return the event of the next line, and the line without mark and carriage return.

        Raises CorruptTrace, IncompleteTrace and InvalidTrace.
        """
        content = self._clean(line)
        try:
            found = parse_json(content)
        except JsonSyntaxError as error:
            raise self._no_json(line, content, str(error)) from None
        except InvalidField as error:
            place = Place(self._name, line.number, line.offset, None, error.field)
            raise InvalidTrace(place, error.reason) from None
        try:
            event = event_from_json(found)
        except InvalidField as error:
            raise self._no_event(line, found, error) from None
        self._events += 1
        self._last_id = event.event_id
        self._number, self._offset = line.number + 1, line.offset + len(line.content) + 1
        return event, content

    def _clean(self, line: Line) -> bytes:
        content = line.content
        if line.number == 1 and content.startswith(BYTE_ORDER_MARK):
            content = content.removeprefix(BYTE_ORDER_MARK)
            self._warn("BOM: the file starts with a byte order mark; it was skipped")
        if content.endswith(b"\r"):
            content = content[:-1]
            if not self._warned_of_returns:
                self._warned_of_returns = True
                self._warn(f"CRLF: lines end in CR LF (line {line.number} first); read as LF")
        return content

    def _no_json(self, line: Line, content: bytes, reason: str) -> TraceError:
        place = Place(self._name, line.number, line.offset)
        hint = next((text for start, text in _FOREIGN_STARTS if content.startswith(start)), reason)
        if line.number == 1 and line.ended and content.strip() in _SPREAD_STARTS:
            hint = "a trace holds one event a line, and this JSON is spread over several lines"
        if line.number == 1 and content.strip() and (line.ended or content.strip()[:1] != b"{"):
            return CorruptTrace(place, f"this is no trace: {hint}")
        if not line.ended:
            return IncompleteTrace(
                place, f"the file ends in the middle of this line; {self.progress}"
            )
        if not content.strip():
            return CorruptTrace(place, "an empty line; each line of a trace is one event")
        if content.startswith(BYTE_ORDER_MARK):
            reason = "a byte order mark in the middle of the file (two files joined?)"
        return CorruptTrace(place, f"the line is no event: {reason}; {self.progress}")

    def _no_event(self, line: Line, found: Any, error: InvalidField) -> InvalidTrace:
        event_id = found.get("event_id") if isinstance(found, dict) else None
        known = event_id if isinstance(event_id, str) else None
        field, reason = error.field, error.reason
        if isinstance(found, list):
            reason += "; a trace holds one event a line, and no array of events"
        stated = _stated_format(found)
        if stated not in {None, FORMAT}:
            # Whatever else is unknown about the line, it follows from this.
            field = "payload.trace.format"
            reason = f"the file is in format {stated!r:.60}, this version reads {FORMAT!r}; "
            reason += "record it again, or read it with the version that wrote it"
        return InvalidTrace(Place(self._name, line.number, line.offset, known, field), reason)


def _stated_format(found: Any) -> str | None:
    """Return the format that a line states, whatever else is wrong with it."""
    for key in ("payload", "trace", "format"):
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, str) else None
