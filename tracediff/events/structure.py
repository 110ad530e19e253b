"""What makes events one trace: the rules that no single line can break alone.

Knows identity, the graph of causes, the root and the end. Must not know files: `line` and
`offset` are handed in and handed out again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from tracediff.errors import InvalidTrace, Place
from tracediff.events.boundaries import BoundaryRules, conflict_with
from tracediff.events.cycles import find_cycle, show_cycle
from tracediff.events.event import Event
from tracediff.events.text import shorten


def check_structure(events: Iterable[Event], *, name: str = "trace") -> None:
    """Raise InvalidTrace or IncompleteTrace unless `events` form one complete trace.

    `name` is what the error calls the trace; its line is the event's position from 1. Copies of
    an event that are equal to it are allowed.
    """
    checker = StructureChecker(name)
    for line, event in enumerate(events, start=1):
        checker.add(event, event, line)
    checker.finish()


@dataclass(frozen=True, slots=True)
class _Known:
    """What is kept of an event until all are there."""

    content: object
    line: int | None
    offset: int | None
    parents: Sequence[str]


class StructureChecker:
    """Takes the events of one trace in file order and keeps what the rules need of each.

    Parents may come later in the file than their children, so that missing parents and cycles
    are known only in `finish`.
    """

    def __init__(self, name: str = "trace") -> None:
        self._name = name
        self._known: dict[str, _Known] = {}
        self._rules = BoundaryRules(name)

    @property
    def events(self) -> int:
        """How many events were taken, copies not counted."""
        return len(self._known)

    def add(
        self, event: Event, content: object, line: int | None = None, offset: int | None = None
    ) -> bool:
        """Take the next event; return False if it is a copy of an earlier one, to be dropped.

        Two events with one id are copies if their `content` is equal: the bytes of the line, or
        the event itself. Raises InvalidTrace.
        """
        if isinstance(content, bytes):  # a digest, so that no line is kept in memory
            content = blake2b(content, digest_size=16).digest()
        known = self._known.get(event.event_id)
        if known is None:
            self._rules.add(event, content, line, offset)
            self._known[event.event_id] = _Known(content, line, offset, event.parents)
            return True
        if known.content == content:
            return False
        place = Place(self._name, line, offset, event.event_id, "event_id")
        raise InvalidTrace(place, conflict_with(known.line))

    def finish(self) -> None:
        """Raise IncompleteTrace or InvalidTrace unless what was taken is one whole trace."""
        self._rules.finish(self.events)
        self._check_parents_exist()
        cycle = find_cycle({key: known.parents for key, known in self._known.items()})
        if cycle:
            place = self._place(cycle[0], "parent_event_id")
            raise InvalidTrace(place, f"an event is its own ancestor: {show_cycle(cycle)}")

    def _check_parents_exist(self) -> None:
        for event_id, known in self._known.items():
            for position, parent in enumerate(known.parents):
                if parent not in self._known:
                    field = "parent_event_id" if position == 0 else f"payload.joins[{position - 1}]"
                    reason = f"there is no event {shorten(parent)!r} in the trace"
                    if not self._rules.has_root:
                        reason += ", nor a root (an event without parent)"
                    raise InvalidTrace(self._place(event_id, field), reason)

    def _place(self, event_id: str, field: str) -> Place:
        known = self._known[event_id]
        return Place(self._name, known.line, known.offset, event_id, field)
