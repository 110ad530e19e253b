"""Edits of recorded traces that keep them structurally valid: events, links, tensor values.

Each changes one thing; the count in `end` and the links of the neighbours are kept right.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from trace_building import changed, tensor, with_payload
from trace_edits import Edit, payload_of

from tracediff.events import Event, Trace


def relinked(trace: Trace, events: Sequence[Event]) -> Trace:
    """Return the trace with other events; the last one states how many there are."""
    plain = [with_payload(event, end=None) for event in events]
    plain[-1] = with_payload(plain[-1], end={"events": len(plain)})
    return replace(trace, events=tuple(plain))


def place_of(trace: Trace, event_id: str) -> int:
    """Return the index of an event."""
    return next(i for i, event in enumerate(trace.events) if event.event_id == event_id)


def without(event_id: str) -> Edit:
    """Return the edit that removes an event; what followed from it follows from its parent."""

    def edit(trace: Trace) -> Trace:
        gone = trace.events[place_of(trace, event_id)]
        rest = [event for event in trace.events if event is not gone]
        return relinked(trace, [_from(event, event_id, gone.parent_event_id) for event in rest])

    return edit


def repeated(event_id: str) -> Edit:
    """Return the edit after which a copy of an event stands between it and what follows."""

    def edit(trace: Trace) -> Trace:
        place = place_of(trace, event_id)
        found = trace.events[place]
        copy = with_payload(replace(found, event_id="copy", parent_event_id=event_id), end=None)
        rest = [_from(event, event_id, "copy") for event in trace.events[place + 1 :]]
        return relinked(trace, [*trace.events[: place + 1], copy, *rest])

    return edit


def inserted(after: str, event_type: str, **sections: Any) -> Edit:
    """Return the edit that puts a new event between an event and what follows from it."""

    def edit(trace: Trace) -> Trace:
        place = place_of(trace, after)
        found = trace.events[place]
        new = Event(
            *(found.trace_id, "new", after, found.component, event_type, found.logical_step),
            sections,
        )
        rest = [_from(event, after, "new") for event in trace.events[place + 1 :]]
        return relinked(trace, [*trace.events[: place + 1], new, *rest])

    return edit


def exchanged(first: str, second: str) -> Edit:
    """Return the edit that exchanges an event and the one that follows from it."""

    def edit(trace: Trace) -> Trace:
        place, later = place_of(trace, first), place_of(trace, second)
        events = list(trace.events)
        parent = events[place].parent_event_id
        events[place], events[later] = (
            replace(events[later], parent_event_id=parent),
            replace(events[place], parent_event_id=second),
        )
        rest = [_from(event, second, first) for event in events[later + 1 :]]
        return relinked(trace, [*events[: later + 1], *rest])

    return edit


def cut_after(event_id: str) -> Edit:
    """Return the edit that ends the trace after an event, as if nothing had been to follow."""

    def edit(trace: Trace) -> Trace:
        return relinked(trace, trace.events[: place_of(trace, event_id) + 1])

    return edit


def with_fields(event_id: str, **fields: Any) -> Edit:
    """Return the edit that sets envelope fields of one event."""

    def edit(trace: Trace) -> Trace:
        events = [replace(e, **fields) if e.event_id == event_id else e for e in trace.events]
        return replace(trace, events=tuple(events))

    return edit


def with_section(event_id: str, **sections: Any) -> Edit:
    """Return the edit that replaces whole sections; None removes one."""
    return lambda trace: changed(trace, event_id, **sections)


def with_values(
    event_id: str, name: str, change: Callable[[Any], Any], section: str = "outputs"
) -> Edit:
    """Return the edit that changes a tensor's values and summarises it anew."""

    def edit(trace: Trace) -> Trace:
        def again(record: Mapping[str, Any]) -> Mapping[str, Any]:
            values = [float(x) for x in record["values"]]
            array = np.array(values, record["dtype"]).reshape(record["shape"])
            return tensor(name, change(array), level="values=4096", **record["logical"])

        records = payload_of(trace, event_id)[section]
        edited = [again(r) if r["name"] == name else r for r in records]
        return changed(trace, event_id, **{section: edited})

    return edit


def without_key(event_id: str, name: str, key: str) -> Edit:
    """Return the edit that removes one key of a tensor among the outputs."""

    def edit(trace: Trace) -> Trace:
        records = payload_of(trace, event_id)["outputs"]
        edited = [
            {k: v for k, v in r.items() if k != key} if r["name"] == name else r for r in records
        ]
        return changed(trace, event_id, outputs=edited)

    return edit


def at(place: tuple[int, ...], value: float) -> Callable[[Any], Any]:
    """Return the change of one element."""

    def change(array: Any) -> Any:
        copy = array.copy()
        copy[place] = value
        return copy

    return change


def bit(place: tuple[int, ...], number: int) -> Callable[[Any], Any]:
    """Return the change that flips one bit of a float32 element (0 is the lowest)."""

    def change(array: Any) -> Any:
        copy = array.copy()
        copy.view(np.uint32)[place] ^= np.uint32(1 << number)
        return copy

    return change


def _from(event: Event, old: str, new: str | None) -> Event:
    joins = event.payload.get("joins")
    if joins and old in joins:
        event = with_payload(event, joins=[new if join == old else join for join in joins])
    return replace(event, parent_event_id=new) if event.parent_event_id == old else event
