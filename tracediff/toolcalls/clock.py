"""Time as an argument: a clock that stands still until it is moved.

Must not read the machine's clock, and nobody sleeps here.
"""

from __future__ import annotations

from datetime import datetime, timedelta


class SimulatedClock:
    """A clock that only `advance` moves; times carry their offset."""

    __slots__ = ("_now",)

    def __init__(self, start: datetime) -> None:
        if start.tzinfo is None:
            raise ValueError(f"{start.isoformat()} has no offset, so it is no moment")
        self._now = start

    def now(self) -> datetime:
        """Return the present moment."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Let time pass; it never runs backwards."""
        if seconds < 0:
            raise ValueError(f"a clock goes forward, not by {seconds} seconds")
        self._now += timedelta(seconds=seconds)

    def advance_to(self, moment: datetime) -> None:
        """Let time pass until a moment, if that has not come yet."""
        self._now = max(self._now, moment)
