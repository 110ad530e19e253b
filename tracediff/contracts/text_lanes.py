"""Rules on text runs where a trace holds several: requests after another, or lanes of a batch.

Knows lanes and requests. Must not know what a rule looks at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from tracediff.contracts.rule import Finding, Rule
from tracediff.contracts.text_events import TEXT_EVENTS
from tracediff.events import Event, Trace

REQUEST: Final = "request.accepted"


def for_each_lane(rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """Return rules that look at one request after another, and at each lane of it alone.

    With the events of a lane stand those that have none.
    """
    return tuple(replace(rule, check=_LaneCheck(rule)) for rule in rules)


class _LaneCheck:
    def __init__(self, rule: Rule) -> None:
        self._check = rule.check

    def __call__(self, trace: Trace) -> Iterator[Finding]:
        """Yield what is found in any lane of any request, once."""
        runs = (run for request in _requests(trace) for run in _runs(request))
        found = (finding for run in runs for finding in self._check(run))
        yield from dict.fromkeys(found)


def _requests(trace: Trace) -> list[Trace]:
    """Return a trace for each request: the events that descend from it and from none after it.

    What descends from no request is one more, if it has text events. A trace with one request, or
    with none, stays as it is.
    """
    if sum(event.event_type == REQUEST for event in trace.events) < 2:
        return [trace]
    owners: dict[str | None, str | None] = {None: None}
    found: dict[str | None, list[Event]] = {}
    for event in trace.events:
        inherited = owners.get(event.parent_event_id)
        owner = event.event_id if event.event_type == REQUEST else inherited
        owners[event.event_id] = owner
        found.setdefault(owner, []).append(event)
    held = (events for events in found.values() if any(e.event_type in TEXT_EVENTS for e in events))
    return [replace(trace, events=_rooted(events, trace)) for events in held]


def _rooted(events: Sequence[Event], trace: Trace) -> tuple[Event, ...]:
    """Return events of which the first is a root with the header of the trace."""
    first, *others = events
    payload = {**first.payload, "trace": trace.header}
    return replace(first, parent_event_id=None, payload=payload), *others


def _runs(trace: Trace) -> list[Trace]:
    return [_only(trace, lane) for lane in _lanes(trace)] or [trace]


def _lanes(trace: Trace) -> list[Mapping[str, Any]]:
    """Return the lanes of the text run's own events, in the order in which they begin."""
    lanes: list[Mapping[str, Any]] = []
    for event in trace.events:
        lane = event.payload.get("lane")
        if event.event_type in TEXT_EVENTS and lane is not None and lane not in lanes:
            lanes.append(lane)
    return lanes


def _only(trace: Trace, lane: Mapping[str, Any]) -> Trace:
    events = (event for event in trace.events if event.payload.get("lane") in (None, lane))
    return replace(trace, events=tuple(events))
