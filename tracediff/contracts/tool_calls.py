"""Reads the tool calls of a trace: which events belong to one logical call, and what each records.

Knows the vocabulary of `events.tool_states`. Must not know rules. A call is known by its
`tool_call_id`; an invocation's id stands for the call that it was seen with; what carries neither
belongs to its lane, or to the only call there is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tracediff.events import Event, Trace
from tracediff.events.tool_states import CALL_TRIGGERS, Trigger, find_trigger

COMMITTING = (Trigger.EXTERNAL_COMMITTED, Trigger.QUERY_FOUND)
"""What establishes that an effect exists."""

NO_CALL = ""


@dataclass(frozen=True, slots=True)
class CallEvent:
    """One event of a call, with what it does to the call's state."""

    event: Event
    trigger: Trigger

    @property
    def event_id(self) -> str:
        """The event's id."""
        return self.event.event_id

    def get(self, section: str, key: str) -> Any:
        """Return an entry of a section, None where there is none."""
        return entry(self.event, section, key)


@dataclass(frozen=True, slots=True)
class Call:
    """All events of one logical call, in file order."""

    call_id: str
    events: tuple[CallEvent, ...]

    def of(self, *triggers: Trigger) -> list[CallEvent]:
        """Return the events with one of these triggers."""
        return [found for found in self.events if found.trigger in triggers]


def entry(event: Event, section: str, key: str) -> Any:
    """Return an entry of an event's section, None where there is none."""
    return event.payload.get(section, {}).get(key)


def find_calls(trace: Trace) -> list[Call]:
    """Return the logical calls of a trace in the order in which they begin."""
    calls: dict[str, list[CallEvent]] = {}
    stray: list[tuple[int, CallEvent]] = []
    by_invocation: dict[str, str] = {}
    for place, found in enumerate(_call_events(trace)):
        call_id = _call_id(found.event, by_invocation)
        if call_id == NO_CALL:
            stray.append((place, found))
        else:
            calls.setdefault(call_id, []).append(found)
    if stray and len(calls) == 1:
        order = {event.event_id: place for place, event in enumerate(trace.events)}
        (only,) = calls.values()
        only.extend(found for _, found in stray)
        only.sort(key=lambda found: order[found.event_id])
    elif stray:
        calls[NO_CALL] = [found for _, found in stray]
    return [Call(call_id, tuple(events)) for call_id, events in calls.items()]


def events_of(trace: Trace, *event_types: str) -> list[Event]:
    """Return the events of these types."""
    return [event for event in trace.events if event.event_type in event_types]


def _call_events(trace: Trace) -> Iterator[CallEvent]:
    for event in trace.events:
        trigger = find_trigger(event.event_type, entry(event, "choice", "outcome"))
        if trigger in CALL_TRIGGERS and trigger is not None:
            yield CallEvent(event, trigger)


def _call_id(event: Event, by_invocation: dict[str, str]) -> str:
    ids = event.payload.get("ids", {})
    call_id, invocation_id = ids.get("tool_call_id"), ids.get("invocation_id")
    if call_id is None:
        if invocation_id is not None:
            return by_invocation.get(str(invocation_id), f"invocation {invocation_id}")
        lane = event.payload.get("lane")
        return NO_CALL if lane is None else f"lane {sorted(lane.items())}"
    if invocation_id is not None:
        by_invocation.setdefault(str(invocation_id), str(call_id))
    return str(call_id)
