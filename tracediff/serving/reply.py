"""What an answer looks like in a vendor's shape: the interface that the two shapes share.

Knows progress of an answer. Must not know any one shape, or how bytes are sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from tracediff.serving.rejection import HttpError
from tracediff.workloads.chat import Delta, Finished, Started

REFUSAL: Final = "I cannot help with that."
"""What the toy says where the fault `refusal` makes it refuse."""


class Reply(Protocol):
    """Makes the parts of one reply. Streamed parts are bytes, ready to be sent."""

    def opening(self, started: Started) -> list[bytes]:
        """Return what comes before the first delta."""

    def delta(self, delta: Delta) -> list[bytes]:
        """Return what one step adds, nothing where it returns no text."""

    def finish(self, finished: Finished) -> list[bytes]:
        """Return the finish reason and what belongs to it."""

    def terminator(self, finished: Finished) -> list[bytes]:
        """Return what comes after everything."""

    def failure(self) -> list[bytes]:
        """Return the error that comes after status 200."""

    def whole(
        self, started: Started, deltas: Sequence[Delta], finished: Finished
    ) -> Mapping[str, Any]:
        """Return the reply as one document."""


class ErrorShape(Protocol):
    """Makes the document of an error."""

    def __call__(self, error: HttpError, request_id: str) -> Mapping[str, Any]:
        """Return the document."""
