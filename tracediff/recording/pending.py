"""Events that wait for the summaries of their tensors, in the order in which they were recorded.

Knows how long they may wait. Must not know how a summary is made or where events go.
"""

from __future__ import annotations

from collections.abc import Iterator

from tracediff.events import Event
from tracediff.recording.tensor_records import TensorRecorder

MOST_EVENTS = 512
MOST_BYTES = 4 << 20
"""Events wait until there are so many, or their snapshots hold so many bytes."""


class PendingEvents:
    """A queue of events; one without waiting tensors waits only behind others."""

    def __init__(self, tensors: TensorRecorder) -> None:
        self._tensors = tensors
        self._events: list[tuple[Event, int]] = []

    def add(self, event: Event, at: int) -> None:
        """Take the next event and when it happened."""
        self._events.append((event, at))

    @property
    def is_due(self) -> bool:
        """Whether the events should be taken now."""
        held = self._tensors.held_bytes
        return held == 0 or held > MOST_BYTES or len(self._events) >= MOST_EVENTS

    def take(self) -> Iterator[tuple[Event, int]]:
        """Complete all events and yield them; the queue is empty afterwards."""
        self._tensors.complete()
        events, self._events = self._events, []
        yield from events
