"""The rules that need no more kept than the first event and the last: trace id, root, end.

Knows events in file order, one at a time and in constant memory. Must not know files, nor the
graph between the events, which is `structure`'s matter.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, NoReturn

from tracediff.errors import IncompleteTrace, InvalidTrace, Place
from tracediff.events.consistency import check_tensors
from tracediff.events.event import Event
from tracediff.events.text import shorten
from tracediff.events.validity import InvalidField


class _Taken(NamedTuple):  # one is made for every event read: a dataclass costs thrice that
    """An event, what two copies of it must share, and where it was."""

    event: Event
    content: object
    line: int | None
    offset: int | None


class BoundaryRules:
    """The rules that need no more kept than the first event and the last: root, trace id, end."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._trace_id: str | None = None
        self._root: _Taken | None = None
        self._last: _Taken | None = None
        self._stated: int | None = None
        self._count = 0

    @property
    def has_root(self) -> bool:
        """Whether an event without parent was among those taken."""
        return self._root is not None

    def add(
        self, event: Event, content: object, line: int | None = None, offset: int | None = None
    ) -> bool:
        """Take the next event; return False if it is a copy of the root or of the last event.

        Two events with one id are copies if their `content` is equal. Raises InvalidTrace.
        """
        taken = _Taken(event, content, line, offset)
        payload = event.payload
        if self._stated is not None and self._last is not None:
            if self._is_copy(taken, self._last):
                return False
            self._refuse(self._last, "payload.end", "the event has `end` and is not the last one")
        if event.trace_id != self._trace_id:
            self._check_trace_id(taken)
        if event.parent_event_id is None or "trace" in payload:
            if self._root is not None and self._is_copy(taken, self._root):
                return False
            self._check_root(taken)
        if "inputs" in payload or "outputs" in payload:
            self._check_tensors(taken)
        end = payload.get("end")
        self._stated = None if end is None else int(end["events"])
        self._last = taken
        self._count += 1
        return True

    def finish(self, events: int | None = None) -> None:
        """Raise IncompleteTrace unless the last event states as many events as there are.

        `events` is how many there are; without it, those that were taken, some of which may have
        been copies: then only too few are too few.
        """
        if self._last is None:
            raise IncompleteTrace(Place(self._name), "the trace is empty: it holds no event")
        last = self._last
        place = Place(self._name, last.line, last.offset, last.event.event_id)
        held = self._count if events is None else events
        if self._stated is None:
            raise IncompleteTrace(
                place,
                f"the trace stops after {count_events(held)}: the last one has no `end`, so the "
                "execution or its recording was cut off",
            )
        if held < self._stated or (held > self._stated and events is not None):
            raise IncompleteTrace(
                replace(place, field="payload.end.events"),
                f"the trace states {count_events(self._stated)} and holds {held}",
            )

    def _check_trace_id(self, taken: _Taken) -> None:
        if self._trace_id is not None:
            reason = f"the trace so far is {shorten(self._trace_id)!r}; a file holds one trace"
            self._refuse(taken, "trace_id", reason)
        self._trace_id = taken.event.trace_id

    def _is_copy(self, taken: _Taken, earlier: _Taken) -> bool:
        if taken.event.event_id != earlier.event.event_id:
            return False
        if taken.content != earlier.content:
            self._refuse(taken, "event_id", conflict_with(earlier.line))
        return True

    def _check_root(self, taken: _Taken) -> None:
        event = taken.event
        if event.parent_event_id is not None:
            reason = "only the root (the event without parent) has a `trace` section"
            self._refuse(taken, "payload.trace", reason)
        if self._root is not None:
            reason = (
                f"a second event without parent; the root is {shorten(self._root.event.event_id)!r}"
            )
            self._refuse(taken, "parent_event_id", reason)
        if "trace" not in event.payload:
            reason = "the root (the event without parent) lacks its `trace` section"
            self._refuse(taken, "payload.trace", reason)
        if event.payload.get("joins"):
            self._refuse(taken, "payload.joins", "the root has no causes, so it joins nothing")
        self._root = taken

    def _check_tensors(self, taken: _Taken) -> None:
        try:
            check_tensors(taken.event)
        except InvalidField as error:
            self._refuse(taken, error.field, error.reason)

    def _refuse(self, taken: _Taken, field: str, reason: str) -> NoReturn:
        place = Place(self._name, taken.line, taken.offset, taken.event.event_id, field)
        raise InvalidTrace(place, reason)


def conflict_with(line: int | None) -> str:
    """Return the reason for refusing an id that occurred already, with other content."""
    where = "before" if line is None else f"in line {line}"
    return f"the id occurs {where} already, with other content; a copy would be the same bytes"


def count_events(events: int) -> str:
    """Return `1 event`, `2 events` …"""
    return "1 event" if events == 1 else f"{events} events"
