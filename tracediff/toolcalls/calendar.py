"""The calendar service: an embedded database in which one key makes at most one event.

Knows SQLite and the messages. Must not know who asks, or how messages get lost. The commit
boundary is the database's COMMIT; all that matters after a crash is in the database.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from tracediff.events.canonical_json import json_digest
from tracediff.toolcalls.clock import SimulatedClock
from tracediff.toolcalls.messages import (
    Absent,
    Committed,
    CreateEvent,
    EffectKey,
    NotCommitted,
    QueryEvent,
    Refused,
    Reply,
    Request,
)

CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Digits of identifiers: Crockford's base 32."""

ID_LENGTH = 3
SLOWEST = 3
"""Seconds that the slowest request takes."""

TABLE = """
CREATE TABLE IF NOT EXISTS events (
    event_id TEXT PRIMARY KEY,
    scope TEXT NOT NULL,
    tool_version TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    request_digest TEXT NOT NULL,
    calendar_id TEXT NOT NULL,
    title TEXT NOT NULL,
    start TEXT NOT NULL,
    duration_minutes INTEGER NOT NULL,
    committed_at TEXT NOT NULL,
    UNIQUE (scope, tool_version, idempotency_key)
)
"""
BY_KEY = """
SELECT event_id, committed_at, start, request_digest FROM events
WHERE scope = ? AND tool_version = ? AND idempotency_key = ?
"""


class ServicePoint(StrEnum):
    """Where a request stands in the service; a test or a fault may step in there."""

    RECEIVED = "received"
    BEFORE_COMMIT = "before_commit"
    AFTER_COMMIT = "after_commit"


AtPoint = Callable[[ServicePoint], None]


class StorageTimeout(Exception):
    """The storage did not become ready in time: the transaction is rolled back, and said so."""


class CalendarService:
    """Creates and finds events; the same seed and the same rows give the same ids.

    `path` is a file, or `:memory:`. Closing and opening the same file is a restart: nothing else
    is remembered.
    """

    def __init__(self, path: str | Path, seed: int, clock: SimulatedClock) -> None:
        self._seed = seed
        self._clock = clock
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = FULL")
        self._database.execute(TABLE)

    def close(self) -> None:
        """Close the database; an open transaction is rolled back."""
        self._database.close()

    def handle(self, request: Request, at_point: AtPoint = lambda point: None) -> Reply:
        """Return the reply to a request; `at_point` is called at every named point on the way."""
        at_point(ServicePoint.RECEIVED)
        if isinstance(request, QueryEvent):
            return self._find(request.key)
        digest = json_digest(dict(request.arguments))
        if digest != request.request_digest:
            evidence = {"request_digest": request.request_digest, "arguments_digest": digest}
            return Refused(request.key, "digest-of-other-arguments", evidence)
        self._database.execute("BEGIN IMMEDIATE")
        try:
            reply, is_new = self._insert(request)
            if is_new:
                at_point(ServicePoint.BEFORE_COMMIT)
            self._database.execute("COMMIT")
        except StorageTimeout:
            self._database.execute("ROLLBACK")
            return NotCommitted(request.key, "storage-timeout")
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        if is_new:
            at_point(ServicePoint.AFTER_COMMIT)
        return reply

    def event_count(self) -> int:
        """Return how many events exist."""
        (count,) = self._database.execute("SELECT count(*) FROM events").fetchone()
        return int(count)

    def _insert(self, request: CreateEvent) -> tuple[Reply, bool]:
        """Insert the event unless its key has one; return the reply and whether it is new."""
        known = self._row(request.key)
        if known is not None:
            if known[3] != request.request_digest:
                evidence = {"stored_digest": known[3], "request_digest": request.request_digest}
                return Refused(request.key, "key-used-for-another-request", evidence), False
            return Committed(request.key, known[0], known[1], known[2]), False
        event_id, seconds = self._next_identity()
        self._clock.advance(seconds)
        committed_at = spell_moment(self._clock.now())
        arguments, key = request.arguments, request.key
        self._database.execute(
            "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                event_id,
                *(key.scope, key.tool_version, key.idempotency_key),
                request.request_digest,
                *(arguments["calendar_id"], arguments["title"], arguments["start"]),
                arguments["duration_minutes"],
                committed_at,
            ),
        )
        return Committed(key, event_id, committed_at, arguments["start"]), True

    def _find(self, key: EffectKey) -> Reply:
        known = self._row(key)
        return Absent(key) if known is None else Committed(key, known[0], known[1], known[2])

    def _row(self, key: EffectKey) -> tuple[str, str, str, str] | None:
        found = self._database.execute(BY_KEY, (key.scope, key.tool_version, key.idempotency_key))
        row: tuple[str, str, str, str] | None = found.fetchone()
        return row

    def _next_identity(self) -> tuple[str, int]:
        """Return an id that no event has, and how many seconds creating it takes."""
        number = self.event_count()
        while True:
            event_id, seconds = derive_identity(self._seed, number)
            taken = self._database.execute("SELECT 1 FROM events WHERE event_id = ?", (event_id,))
            if taken.fetchone() is None:
                return event_id, seconds
            number += 1


def derive_identity(seed: int, number: int) -> tuple[str, int]:
    """Return the id of a service's event of this number, and the seconds that creating it takes.

    Five bits a digit from SHA-256 over `SEED/NUMBER`, then one byte for the seconds, 1 to SLOWEST.
    """
    bits = hashlib.sha256(f"{seed}/{number}".encode()).digest()
    digits = "".join(CROCKFORD[byte % 32] for byte in bits[:ID_LENGTH])
    return f"evt_{digits}", 1 + bits[ID_LENGTH] % SLOWEST


def spell_moment(moment: datetime) -> str:
    """Return a moment as ISO 8601 with offset, to the second."""
    return moment.isoformat(timespec="seconds")
