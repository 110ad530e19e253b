"""How the rules on diffusion traces find what they look at.

Knows event types, names of tensors and lanes. Must not know what is right or wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tracediff.events import Event, Trace
from tracediff.events.event import TENSOR_SECTIONS

PREDICTIONS = ("epsilon", "velocity")
"""What the network's output is called, by prediction type."""


def of_type(trace: Trace, *types: str) -> list[Event]:
    """Return the events of these types in file order."""
    return [event for event in trace.events if event.event_type in types]


def state_of(event: Event, key: str) -> Any:
    """Return a value of the event's state, or None."""
    return event.payload.get("state", {}).get(key)


def setting_of(trace: Trace, key: str) -> Any:
    """Return a setting of the run, or None."""
    return trace.root.payload.get("settings", {}).get(key)


def record_of(event: Event, name: str) -> Mapping[str, Any] | None:
    """Return the record of a tensor, from the outputs or else the inputs, or None."""
    for section in reversed(TENSOR_SECTIONS):
        for record in event.payload.get(section, ()):
            if record["name"] == name:
                found: Mapping[str, Any] = record
                return found
    return None


def by_lane(events: Sequence[Event]) -> list[list[Event]]:
    """Return the events of each picture, in file order."""
    lanes: dict[str, list[Event]] = {}
    for event in events:
        lanes.setdefault(repr(event.payload.get("lane")), []).append(event)
    return list(lanes.values())


def steps_by_picture(trace: Trace) -> list[list[Event]]:
    """Return the denoising steps of each picture, in file order."""
    return by_lane(of_type(trace, "denoise.updated"))


def is_image(trace: Trace) -> bool:
    """Whether the rules on pictures apply at all."""
    return trace.kind == "image"


def has_event(event_type: str) -> Callable[[Trace], bool]:
    """Return the test whether a picture's trace has an event of a type."""
    return lambda trace: is_image(trace) and bool(of_type(trace, event_type))


def has_number(event_type: str, key: str) -> Callable[[Trace], bool]:
    """Return the test whether it has one, and a setting that is a number."""

    def applies(trace: Trace) -> bool:
        return has_event(event_type)(trace) and type(setting_of(trace, key)) in (int, float)

    return applies
