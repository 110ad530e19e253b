"""Rules on text runs where a trace holds several, each in a lane of its own.

Knows lanes. Must not know what a rule looks at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tracediff.contracts.rule import Finding, Rule
from tracediff.contracts.text_events import TEXT_EVENTS
from tracediff.events import Trace


def for_each_lane(rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """Return rules that look at one lane after another, each with the events that have no lane."""
    return tuple(replace(rule, check=_LaneCheck(rule)) for rule in rules)


class _LaneCheck:
    def __init__(self, rule: Rule) -> None:
        self._check = rule.check

    def __call__(self, trace: Trace) -> Iterator[Finding]:
        """Yield what is found in any lane, once."""
        lanes = _lanes(trace)
        if not lanes:
            yield from self._check(trace)
            return
        found = (finding for lane in lanes for finding in self._check(_only(trace, lane)))
        yield from dict.fromkeys(found)


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
