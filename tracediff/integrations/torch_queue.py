"""Calls that wait to become events, so that the model is kept waiting for as little as possible.

Knows the recorder and the order of events. Must not know hooks or tensors. Between two large
kernels of a model every line of Python runs from a cold cache and takes two to three times as
long; many calls made into events one after the other do not.
"""

from __future__ import annotations

import threading
from typing import Any, Final, NamedTuple

from tracediff.integrations.torch_calls import Call, Thread
from tracediff.recording.recorder import Recorder

MOST_CALLS: Final = 64
"""Calls that wait, at most."""


class _Waiting(NamedTuple):
    thread: Thread
    call: Call
    event_type: str
    several: bool
    sections: dict[str, Any]


class CallQueue:
    """Calls in the order in which they became known; threads may share it.

    The recorder asks for them before it records anything else.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._waiting: list[_Waiting] = []
        self._lock = threading.RLock()
        self.first_event = ""

    def add(
        self, thread: Thread, call: Call, event_type: str, several: bool, sections: dict[str, Any]
    ) -> None:
        """Take the next event of a call; `several` says that threads make calls at once."""
        self._waiting.append(_Waiting(thread, call, event_type, several, sections))
        if len(self._waiting) >= MOST_CALLS:
            self.flush()

    def flush(self) -> None:
        """Record everything that waits."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
            for held in waiting:
                self._record(*held)

    def _record(
        self, thread: Thread, call: Call, event_type: str, several: bool, sections: dict[str, Any]
    ) -> None:
        if call.ordinal:
            sections["state"] = {"call": call.ordinal, **sections.get("state", {})}
        # A single thread's events follow whatever was recorded before; of several threads, each
        # follows its own.
        thread.last_event = self._recorder.event(
            call.place.component,
            event_type,
            logical_step=call.step,
            parent=(thread.last_event or self.first_event) if several else None,
            lane=thread.lane,
            **{key: value for key, value in sections.items() if value},
        )
