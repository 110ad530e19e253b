"""The layers of a recorded answer: what stands in each of them, and which of them differ.

Knows the events of kind `stream`. What a difference means is `streams`'s matter. A layer differs
where what it says differs: how often a server-sent event comes in a row is how the text was cut,
and belongs to the deltas.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Any, Final

from tracediff.diff.causes import texts
from tracediff.events import Event

MESSAGE: Final = "message.assembled"
FRAME: Final = "sse.event"
PIECES: Final = ("stream.delta", "stream.joined")

LAYERS: Final = (
    *("request", "attempt", "head", "identification", "framing", "delta"),
    *("assembly", "finish", "error", "usage", "end"),
)
"""From the lowest one up."""

LAYER_OF: Final[Mapping[str, str]] = MappingProxyType(
    {
        "request.sent": "request",
        "attempt.made": "attempt",
        "response.started": "head",
        "response.identified": "identification",
        FRAME: "framing",
        "body.received": "framing",
        **dict.fromkeys(PIECES, "delta"),
        MESSAGE: "assembly",
        "message.finished": "finish",
        "stream.failed": "error",
        "usage.reported": "usage",
        "stream.ended": "end",
    }
)


def differing_layers(
    left: Sequence[Event], right: Sequence[Event], first: Event
) -> tuple[str, ...]:
    """Return the layers in which two answers differ, the lowest first.

    `first` is the first divergent event. Its layer differs in any case; for a server-sent event
    that is the one of the deltas where these are cut otherwise.
    """
    found = {layer for layer, tell in _TELLERS.items() if tell(left) != tell(right)}
    if pieces_of(left) != pieces_of(right):
        found.add("delta")
    own = LAYER_OF[first.event_type]
    if own != "framing" or "delta" not in found:
        found.add(own)
    return tuple(layer for layer in LAYERS if layer in found)


def messages_of(events: Iterable[Event]) -> dict[Hashable, dict[str, Any]]:
    """Return what each assembled message says, by its lane."""
    return {
        lane_of(event): dict(event.payload.get("choice", {}))
        for event in events
        if event.event_type == MESSAGE
    }


def pieces_of(events: Iterable[Event]) -> dict[Hashable, list[bytes]]:
    """Return the pieces of every lane's text as UTF-8."""
    found: dict[Hashable, list[bytes]] = {}
    for event in events:
        if event.event_type in PIECES:
            found.setdefault(lane_of(event), []).append(texts.bytes_of(event))
    return found


def texts_of(events: Iterable[Event]) -> dict[Hashable, bytes]:
    """Return the text of every lane as UTF-8."""
    return {lane: b"".join(pieces) for lane, pieces in pieces_of(events).items()}


def tokens_of(events: Iterable[Event]) -> list[Any]:
    """Return the tokens that came with the pieces, with their log-probabilities."""
    return [e.payload.get("choice", {}).get("tokens") for e in events if e.event_type in PIECES]


def lane_of(event: Event) -> Hashable:
    """Return the lane of an event as a key."""
    return tuple(sorted((event.payload.get("lane") or {}).items()))


def frames_of(events: Sequence[Event]) -> list[Any]:
    """Return types and forms of the server-sent events, each once for a run of equal ones."""
    states = [event.payload.get("state", {}) for event in events if event.event_type == FRAME]
    forms = ((state.get("event"), state.get("payload")) for state in states)
    return [form for form, _ in groupby(forms)]


def _deltas(events: Sequence[Event]) -> Any:
    tools = [
        (lane_of(event), event.payload["choice"]["tool"])
        for event in events
        if event.event_type in PIECES and "tool" in event.payload.get("choice", {})
    ]
    return texts_of(events), sorted(tools, key=repr)


def _section(layer: str, section: str) -> Callable[[Sequence[Event]], list[Any]]:
    def tell(events: Sequence[Event]) -> list[Any]:
        own = (event for event in events if LAYER_OF.get(event.event_type) == layer)
        found = [(lane_of(event), dict(event.payload.get(section, {}))) for event in own]
        return sorted(found, key=lambda entry: repr(entry[0]))

    return tell


_TELLERS: Final[Mapping[str, Callable[[Sequence[Event]], Any]]] = MappingProxyType(
    {
        "request": _section("request", "artifacts"),
        "identification": _section("identification", "artifacts"),
        "framing": frames_of,
        "delta": _deltas,
        **{
            layer: _section(layer, "choice")
            for layer in ("attempt", "head", "assembly", "finish", "error", "usage", "end")
        },
    }
)
