"""The recorder that a test gets: it keeps its events in memory until they are asked for."""

from __future__ import annotations

from typing import Any

from tracediff.errors import IllegalState
from tracediff.events import Trace
from tracediff.recording.recorder import Recorder
from tracediff.recording.sinks import MemorySink


class MemoryRecorder(Recorder):
    """A `tracediff.Recorder` into memory, with the same options but for the destination."""

    def __init__(self, **options: Any) -> None:
        self._memory = MemorySink()
        self._taken = False
        super().__init__(self._memory, **options)

    @property
    def unused_events(self) -> int:
        """How many events were recorded that nobody has asked for."""
        return 0 if self._taken else self._count

    def trace(self, name: str = "recorded trace") -> Trace:
        """End the recording, if it has not ended, and return what was recorded.

        Raises IllegalState where nothing was recorded or the recording was abandoned.
        """
        self._taken = True
        if not self._closed:
            self.close()
        try:
            return self._memory.trace(name)
        except ValueError:
            raise IllegalState(
                "the recording was abandoned, which leaves no whole trace to compare"
            ) from None
