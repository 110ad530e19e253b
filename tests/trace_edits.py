"""Edits of recorded traces: each changes one thing and leaves the rest as it was recorded."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from trace_building import changed

from tracediff.events import Trace

Edit = Callable[[Trace], Trace]


def payload_of(trace: Trace, event_id: str) -> Any:
    """Return the payload of one event."""
    return next(event.payload for event in trace.events if event.event_id == event_id)


def put(event_id: str, section: str, **values: Any) -> Edit:
    """Return an edit that sets keys of a section."""

    def edit(trace: Trace) -> Trace:
        old: Mapping[str, Any] = payload_of(trace, event_id).get(section, {})
        return changed(trace, event_id, **{section: {**old, **values}})

    return edit


def put_tensor(event_id: str, name: str, **values: Any) -> Edit:
    """Return an edit that sets keys of one tensor record among the outputs."""

    def edit(trace: Trace) -> Trace:
        records = payload_of(trace, event_id)["outputs"]
        edited = [{**r, **values} if r["name"] == name else r for r in records]
        return changed(trace, event_id, outputs=edited)

    return edit


def drop_tensor(event_id: str, name: str) -> Edit:
    """Return an edit that removes one tensor record."""

    def edit(trace: Trace) -> Trace:
        records = payload_of(trace, event_id)["outputs"]
        return changed(trace, event_id, outputs=[r for r in records if r["name"] != name])

    return edit


def put_draw(event_id: str, **values: Any) -> Edit:
    """Return an edit that sets keys of the event's draw."""

    def edit(trace: Trace) -> Trace:
        (draw,) = payload_of(trace, event_id)["rng"]
        return changed(trace, event_id, rng=[{**draw, **values}])

    return edit


def repeat(event_id: str) -> Edit:
    """Return an edit that adds a copy of an event under a new id, at the end."""

    def edit(trace: Trace) -> Trace:
        found = next(event for event in trace.events if event.event_id == event_id)
        copy = replace(found, event_id="copy", parent_event_id=trace.events[-1].event_id)
        return replace(trace, events=(*trace.events, copy))

    return edit


def drop(event_id: str) -> Edit:
    """Return an edit that removes an event."""
    return lambda trace: replace(
        trace, events=tuple(event for event in trace.events if event.event_id != event_id)
    )


def both(*edits: Edit) -> Edit:
    """Return the edits one after another."""

    def edit(trace: Trace) -> Trace:
        for one in edits:
            trace = one(trace)
        return trace

    return edit
