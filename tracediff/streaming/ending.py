"""How the reading of an answer ended: whole, or not, and where.

Knows positions. Must not know how they were found.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Incomplete:
    """Why an answer is not whole, and where that was seen.

    `byte` is an offset in what was received (a capture's file, a body), `events` counts the
    server-sent events that were whole until then.
    """

    reason: str
    byte: int
    events: int

    def __str__(self) -> str:
        """`byte 120, after 3 events: the reason`."""
        plural = "" if self.events == 1 else "s"
        return f"byte {self.byte}, after {self.events} event{plural}: {self.reason}"
