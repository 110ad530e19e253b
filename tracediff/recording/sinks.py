"""Where a recorder's events go: the interface, and a sink that keeps them in memory.

Must not know what an event means. The sink that writes files is `tracediff.storage.TraceWriter`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from tracediff.events import Event, TensorRecord, Trace

if TYPE_CHECKING:
    import numpy as np


class EventSink(Protocol):
    """What a recorder needs of a destination."""

    def write(self, event: Event, *, at: int | None = None) -> None:
        """Take the next event; `at` is the recorder's clock when it happened, in nanoseconds."""

    def write_tensor(self, digest: str, array: np.ndarray[Any, Any]) -> str:
        """Keep a full tensor; return the name that the record's `file` carries."""

    def finish(self) -> None:
        """Make what was written final; called once, after the last event."""

    def abandon(self) -> None:
        """Stop without making anything final; what was written stays recognisably incomplete."""


class MemorySink:
    """Keeps events and full tensors in memory."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._arrays: dict[str, np.ndarray[Any, Any]] = {}
        self._finished = False

    def write(self, event: Event, *, at: int | None = None) -> None:
        """Take the next event."""
        self._events.append(event)

    def write_tensor(self, digest: str, array: np.ndarray[Any, Any]) -> str:
        """Keep a copy of `array` under the hex part of its digest."""
        name = f"{digest.partition(':')[2]}.npy"
        self._arrays.setdefault(name, array.copy())
        return name

    def finish(self) -> None:
        """Mark the trace as complete."""
        self._finished = True

    def abandon(self) -> None:
        """Leave the trace incomplete."""

    def load(self, record: TensorRecord) -> np.ndarray[Any, Any] | None:
        """Return the kept array of `record`, or None."""
        return self._arrays.get(record.file or "")

    def trace(self, name: str) -> Trace:
        """Return what was recorded; only a finished recording is a trace."""
        if not self._finished:
            raise ValueError("the recording is not finished")
        return Trace(tuple(self._events), name=name, tensors=self)
