"""What one of two recorded answers does not know: it is not compared, and that is said.

Knows the events of kind `stream`: a capture may lack the head of its response and its request, and
never tells how often was asked. What both know is compared whatever it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from tracediff.diff.views import drop_events
from tracediff.events import Event, Trace

KIND: Final = "stream"
_HEAD: Final = "response.started"
_TRY: Final = "attempt.made"
_SIDES: Final = ("left", "right")


def hide_unknown(left: Trace, right: Trace) -> tuple[Trace, Trace, tuple[str, ...]]:
    """Return both traces without what only one of them knows, and a line for each such thing."""
    if left.kind != KIND or right.kind != KIND:
        return left, right, ()
    sides, notes = [left, right], []
    for number, side in enumerate((left, right)):
        own, other = _SIDES[number], 1 - number
        if not _has(side.events, _HEAD) and _has(sides[other].events, _HEAD):
            sides[other] = _without(sides[other], _HEAD)
            notes.append(f"status and content type not compared: {own} has no head of a response")
        is_capture = bool(known_of(side.root)) and not known_of(sides[other].root)
        if is_capture and _has(sides[other].events, _TRY):
            sides[other] = _without(sides[other], _TRY)
            notes.append(f"tries not compared: {own} is a capture")
        if known_of(side.root) == "capture" and known_of(sides[other].root) != "capture":
            sides[other] = _without_request(sides[other])
            notes.append(f"requests not compared: {own} does not know its own (--request)")
    return sides[0], sides[1], tuple(notes)


def known_of(root: Event) -> Any:
    """Return what a recorded answer says it knows of its request, None for one that was asked."""
    return root.payload.get("context", {}).get("known")


def knows_otherwise(left: Sequence[Event], right: Sequence[Event]) -> bool:
    """Whether the first events of two recorded answers show that one knows what the other one
    does not.
    """
    return known_of(left[0]) != known_of(right[0]) or _has(left, _HEAD) != _has(right, _HEAD)


def _has(events: Sequence[Event], event_type: str) -> bool:
    return any(event.event_type == event_type for event in events)


def _without(trace: Trace, event_type: str) -> Trace:
    kept = drop_events(trace.events, lambda event: event.event_type == event_type)
    return replace(trace, events=tuple(kept))


def _without_request(trace: Trace) -> Trace:
    """Return the trace with nothing of its request but the API."""
    root = trace.root
    payload = {key: value for key, value in root.payload.items() if key != "settings"}
    payload["artifacts"] = {
        key: value for key, value in payload.get("artifacts", {}).items() if key == "api"
    }
    bare = replace(root, payload=payload)
    events = (bare if event is root else event for event in trace.events)
    return replace(trace, events=tuple(events))
