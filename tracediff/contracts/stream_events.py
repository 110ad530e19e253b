"""How the rules on recorded answers find what they look at.

Knows the event types of kind `stream`. Must not know what is right or wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from tracediff.events import Event, Trace
from tracediff.events.text import text_from_json

STARTED: Final = "response.started"
FRAME: Final = "sse.event"
DELTA: Final = "stream.delta"
MESSAGE: Final = "message.assembled"
FINISHED: Final = "message.finished"
FAILED: Final = "stream.failed"
USAGE: Final = "usage.reported"
ENDED: Final = "stream.ended"

CUT_OFF: Final = ("max_tokens", "context_window", "length", "content_filter")
"""Finish reasons that may fall in the middle of an argument."""


def is_stream(trace: Trace) -> bool:
    """Whether this is the recorded answer of a server."""
    return trace.kind == "stream"


def of_type(trace: Trace, event_type: str) -> list[Event]:
    """Return the events of a type in file order."""
    return [event for event in trace.events if event.event_type == event_type]


def value_of(event: Event, section: str, key: str) -> Any:
    """Return an entry of a section, None where there is none."""
    return event.payload.get(section, {}).get(key)


def choice_number(event: Event) -> Any:
    """Return the number of the answer that an event belongs to."""
    return value_of(event, "lane", "choice")


def part_of(event: Event) -> str:
    """Return the part that a delta belongs to: `text 0`, `tool_call 1`."""
    return str(value_of(event, "lane", "part"))


def finish_of(trace: Trace, number: Any) -> Any:
    """Return the finish reason of an answer in the common vocabulary, None where there is none."""
    for event in of_type(trace, FINISHED):
        if choice_number(event) == number:
            return settled_finish(event)
    return None


def settled_finish(event: Event) -> Any:
    """Return the finish reason of an event, the more exact one that the request settles."""
    return value_of(event, "context", "settled") or value_of(event, "choice", "finish_reason")


def joined_text(events: Iterable[Event]) -> str | None:
    """Return the text of deltas as one, None where a digest stands for a piece."""
    pieces = []
    for event in events:
        found = value_of(event, "choice", "text")
        if isinstance(found, dict) and "b64" not in found:
            return None
        piece = text_from_json(found)
        pieces.append(piece if isinstance(piece, str) else piece.decode(errors="surrogatepass"))
    return join_halves("".join(pieces))


def told_text(found: Any) -> str | None:
    """Return a text that an event tells, None where a digest stands for it."""
    if isinstance(found, dict) and "b64" not in found:
        return None
    text = text_from_json(found)
    return text if isinstance(text, str) else text.decode(errors="surrogatepass")


def join_halves(text: str) -> str:
    """Return `text` with surrogate pairs whose halves came apart as the characters they are."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
