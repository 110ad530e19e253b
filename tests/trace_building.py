"""Small traces for tests, written as short lists of events."""

from collections.abc import Mapping, Sequence
from typing import Any

from tracediff.events import Event, Trace
from tracediff.events.event import FORMAT


def event(
    event_id: str,
    parent: str | None = None,
    event_type: str = "step",
    *,
    component: str = "loop",
    step: int = 0,
    **sections: Any,
) -> Event:
    """Return one event; sections are payload sections."""
    payload = {key: value for key, value in sections.items() if value is not None}
    return Event("trace-test", event_id, parent, component, event_type, step, payload)


def trace(
    events: Sequence[Event],
    *,
    kind: str = "generic",
    name: str = "trace",
    header: Mapping[str, Any] | None = None,
) -> Trace:
    """Return a trace: the root gets its `trace` section, the last event its `end`."""
    listed = list(events)
    root = next(i for i, e in enumerate(listed) if e.parent_event_id is None)
    listed[root] = with_payload(
        listed[root], trace={"format": FORMAT, "kind": kind, **(header or {})}
    )
    listed[-1] = with_payload(listed[-1], end={"events": len(listed)})
    return Trace(tuple(listed), name=name)


def chain(*events: Event, **options: Any) -> Trace:
    """Return a trace whose events follow one from another."""
    linked: list[Event] = []
    for found in events:
        parent = linked[-1].event_id if linked else None
        linked.append(
            Event(
                found.trace_id,
                found.event_id,
                parent,
                found.component,
                found.event_type,
                found.logical_step,
                found.payload,
            )
        )
    return trace(linked, **options)


def with_payload(found: Event, **sections: Any) -> Event:
    """Return the event with sections added or replaced; None removes one."""
    payload = {**found.payload, **sections}
    payload = {key: value for key, value in payload.items() if value is not None}
    return Event(
        found.trace_id,
        found.event_id,
        found.parent_event_id,
        found.component,
        found.event_type,
        found.logical_step,
        payload,
    )


def changed(found: Trace, event_id: str, **sections: Any) -> Trace:
    """Return the trace with sections of one event replaced."""
    events = tuple(
        with_payload(e, **sections) if e.event_id == event_id else e for e in found.events
    )
    return Trace(events, found.name, found.warnings, found.tensors)


def tensor(
    name: str,
    array: Any,
    *,
    level: str = "values=64",
    dtype: str | None = None,
    **logical: Any,
) -> dict[str, Any]:
    """Return the JSON record of an array."""
    from tracediff.events.tensors import TensorRecord, tensor_to_json
    from tracediff.recording.levels import parse_level
    from tracediff.recording.summary import summarise_tensor

    summary = summarise_tensor(array, dtype=dtype, level=parse_level(level))
    return tensor_to_json(
        TensorRecord(
            name=name,
            dtype=summary.dtype,
            shape=summary.shape,
            digest=summary.digest,
            stats=summary.stats,
            logical=logical,
            sketch=summary.sketch,
            values=summary.values,
        )
    )
