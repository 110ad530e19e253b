"""The way between a client and the service, on which messages get lost at named points.

Knows faults and deadlines. Must not know what a request means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from tracediff.toolcalls.calendar import CalendarService, ServicePoint, StorageTimeout
from tracediff.toolcalls.clock import SimulatedClock
from tracediff.toolcalls.messages import Refused, Reply, Request


class FaultPoint(StrEnum):
    """Where one message's journey is disturbed."""

    BEFORE_SEND = "before_send"
    BEFORE_COMMIT = "before_commit"
    CRASH_BEFORE_COMMIT = "crash_before_commit"
    CRASH_AFTER_COMMIT = "crash_after_commit"
    REPLY_LOST = "reply_lost"
    REPLY_TWICE = "reply_twice"
    REFUSED = "refused"


class Channel(Protocol):
    """What a client needs of a connection."""

    def send(self, request: Request, deadline: datetime) -> list[Reply]:
        """Return the replies that arrive by the deadline: none, one, or copies of one."""

    def close(self) -> None:
        """Hang up; called once."""


class _ServiceStopped(Exception):
    """The service's process is gone at this point."""


class LocalChannel:
    """A service in the same process; fault number n meets message number n, None meets it well.

    `start_service` opens the service; it is called again after a crash.
    """

    def __init__(
        self,
        start_service: Callable[[], CalendarService],
        clock: SimulatedClock,
        faults: Iterable[FaultPoint | None] = (),
    ) -> None:
        self._start_service = start_service
        self._service = start_service()
        self._clock = clock
        self._faults = iter(faults)

    @property
    def service(self) -> CalendarService:
        """The service that runs now."""
        return self._service

    def send(self, request: Request, deadline: datetime) -> list[Reply]:
        """Return the replies that arrive by the deadline; time passes until then if none does."""
        replies = self._deliver(request, next(self._faults, None))
        if not replies or self._clock.now() > deadline:
            self._clock.advance_to(deadline)
            return []
        return replies

    def restart(self) -> None:
        """Stop the service and start it again; what it knows is what it stored."""
        self._service.close()
        self._service = self._start_service()

    def close(self) -> None:
        """Stop the service."""
        self._service.close()

    def _deliver(self, request: Request, fault: FaultPoint | None) -> list[Reply]:
        if fault is FaultPoint.BEFORE_SEND:
            return []
        if fault is FaultPoint.REFUSED:
            return [Refused(request.key, "service-unavailable")]
        try:
            reply = self._service.handle(request, lambda point: _disturb(point, fault))
        except _ServiceStopped:
            self.restart()
            return []
        if fault is FaultPoint.REPLY_LOST:
            return []
        return [reply, reply] if fault is FaultPoint.REPLY_TWICE else [reply]


def _disturb(point: ServicePoint, fault: FaultPoint | None) -> None:
    """Step in where the fault says so."""
    if point is ServicePoint.BEFORE_COMMIT:
        if fault is FaultPoint.BEFORE_COMMIT:
            raise StorageTimeout
        if fault is FaultPoint.CRASH_BEFORE_COMMIT:
            raise _ServiceStopped
    if point is ServicePoint.AFTER_COMMIT and fault is FaultPoint.CRASH_AFTER_COMMIT:
        raise _ServiceStopped
