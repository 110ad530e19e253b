"""Calls that wait to become events, so that the model is kept waiting for as little as possible.

Knows the recorder and the order of events. Must not know hooks or what a tensor holds. Between two
large kernels of a model every line of Python runs from a cold cache and takes two to five times as
long; many calls made into events one after the other do not.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

from tracediff.integrations.torch_calls import Call, Passage, Thread
from tracediff.integrations.torch_places import ModulePlace
from tracediff.integrations.torch_random import Look
from tracediff.recording.recordable import Summarised
from tracediff.recording.recorder import Recorder
from tracediff.recording.tensor_records import Recordable

DRAWN: Final = "random.drawn"

MOST_CALLS: Final = 256
MOST_BYTES: Final = 4 << 20
"""Calls wait until there are so many, or their copies hold so many bytes."""


Held: TypeAlias = "bytes | Recordable"
"""What is kept of a float32 tensor: the numbers of a small one in C order, a record of another."""


class Returned(NamedTuple):
    """A call that gave one usual tensor: all that has to be kept of it before it goes on.

    `call` is None where nothing was known of the call before it returned.
    """

    thread: Thread
    call: Call | None
    place: ModulePlace
    passage: Passage
    fixed_step: int | None
    several: bool
    look: Look
    held: Held
    shape: tuple[int, ...]
    training: bool

    def described_call(self) -> Call:
        """Return the call."""
        if self.call is not None:
            return self.call
        step = self.passage.number if self.fixed_step is None else self.fixed_step
        return Call(self.place, step, self.passage)


class Told(NamedTuple):
    """An event whose sections are known but for the draws before it; none without either."""

    thread: Thread
    call: Call
    several: bool
    look: Look | None
    event_type: str
    sections: dict[str, Any]


class CallQueue:
    """Calls in the order in which they became known; threads may share it.

    The recorder asks for them before it records anything else. `tell` makes an event of a call
    that returned.
    """

    def __init__(self, recorder: Recorder, tell: Callable[[Returned], Told]) -> None:
        self._recorder = recorder
        self._tell = tell
        # Threads add while one of them takes: nothing may be put into a list that was taken.
        self._waiting: deque[Returned | Told] = deque()
        self._is_flushing = False
        self._held_bytes = 0
        self._lock = threading.RLock()
        self.first_event = ""

    def add(self, item: Returned | Told, size: int = 0) -> None:
        """Take the next event, which holds `size` bytes; `several`: threads make calls at once."""
        self._waiting.append(item)
        self._held_bytes += size
        if self._held_bytes > MOST_BYTES or len(self._waiting) >= MOST_CALLS:
            self.flush()

    def flush(self) -> None:
        """Record everything that waits."""
        with self._lock:
            if self._is_flushing:  # the recorder asks while it is handed an event
                return
            self._is_flushing = True
            try:
                while self._waiting:
                    item = self._waiting.popleft()
                    self._record(self._tell(item) if isinstance(item, Returned) else item)
            finally:
                self._held_bytes, self._is_flushing = 0, False

    def _record(self, told: Told) -> None:
        thread, call, several, look, event_type, sections = told
        found = {key: value for key, value in sections.items() if value}
        if look is not None and (draws := look.draws()):
            found["rng"] = draws
        elif event_type == DRAWN:
            return
        if ordinal := call.count():
            found["state"] = {"call": ordinal, **found.get("state", {})}
        # A single thread's events follow whatever was recorded before; of several threads, each
        # follows its own.
        thread.last_event = self._recorder.event(
            call.place.component,
            event_type,
            logical_step=call.step,
            parent=(thread.last_event or self.first_event) if several else None,
            lane=thread.lane,
            **found,
        )


def size_of(held: Held) -> int:
    """Return how many bytes are kept until the call is recorded."""
    if isinstance(held, bytes):
        return len(held)
    if isinstance(held, Summarised):
        return 0 if held.array is None else held.array.nbytes
    return 0
