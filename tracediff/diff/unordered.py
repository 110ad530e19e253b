"""Compares two traces that hold the same events, by their ids, in another order.

Knows events. What stands word for word on both sides is the same event and is not looked at; the
rest is paired by id, which is sound only if every id of the rest is on both sides, in the same
place of the graph. Where that is not so nothing is said, and the caller aligns the graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tracediff.diff.collect import Collector
from tracediff.diff.in_step import OutOfStep
from tracediff.diff.siblings import lane_key
from tracediff.events import Event

Parents = Callable[[str], Sequence[str]]


def compare_by_id(
    collector: Collector, left: Sequence[Event], right: Iterable[Event], parents: Parents
) -> None:
    """Compare the events that are not the same on both sides, in left's file order.

    `parents` gives the parents of any event of left, also of those that are the same. Raises
    OutOfStep where an event has no counterpart in the same place.
    """
    counterparts = {event.event_id: event for event in right}
    if len(counterparts) != len(left):
        raise OutOfStep
    diverged: set[str] = set()
    for event in left:
        other = counterparts.get(event.event_id)
        if other is None or _place(event) != _place(other):
            raise OutOfStep
        victim = bool(diverged) and _descends(event, diverged, parents)
        if collector.pair(event, other, None, victim=victim):
            diverged.add(event.event_id)
    if collector.comparer.renaming.renamed:
        raise OutOfStep  # ids of what was not looked at may contradict the renaming


def _place(event: Event) -> tuple[object, ...]:
    ends = event.payload.get("end")
    place = event.component, event.event_type, event.logical_step, event.parents, lane_key(event)
    return (*place, None if ends is None else ends["events"])


def _descends(event: Event, diverged: set[str], parents: Parents) -> bool:
    """Whether an ancestor diverged; every event is visited once."""
    waiting, seen = list(event.parents), set()
    while waiting:
        found = waiting.pop()
        if found in diverged:
            return True
        if found not in seen:
            seen.add(found)
            waiting.extend(parents(found))
    return False
