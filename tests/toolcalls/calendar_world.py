"""A service, a clock and requests, for tests of the calendar and its client."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from toolcalls.calendar_tool import NORMALIZED

from tracediff.events.canonical_json import json_digest
from tracediff.toolcalls.calendar import CalendarService
from tracediff.toolcalls.channel import FaultPoint, LocalChannel
from tracediff.toolcalls.client import RetryPolicy
from tracediff.toolcalls.clock import SimulatedClock
from tracediff.toolcalls.messages import CreateEvent, EffectKey

START = datetime.fromisoformat("2026-07-19T14:00:03+08:00")
SEED = 107131
POLICY = RetryPolicy(retries=2, queries=3, deadline_seconds=30, retry_after_seconds=2)


def key(name: str = "req-42:create-event:1") -> EffectKey:
    """Return the key of a request."""
    return EffectKey("user-42/primary", "calendar.create_event@v1", name)


def request(name: str = "req-42:create-event:1", **changes: object) -> CreateEvent:
    """Return a request with its arguments' digest."""
    arguments = {**NORMALIZED, **changes}
    return CreateEvent(key(name), json_digest(arguments), arguments)


def service_at(path: Path | str = ":memory:", seed: int = SEED) -> CalendarService:
    """Return a service with a clock of its own."""
    return CalendarService(path, seed, SimulatedClock(START))


def channel_to(
    path: Path, clock: SimulatedClock, faults: Sequence[FaultPoint | None] = ()
) -> LocalChannel:
    """Return a channel to a service on a file."""
    return LocalChannel(lambda: CalendarService(path, SEED, clock), clock, faults)
