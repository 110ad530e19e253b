"""What a client and the calendar service say to each other.

Plain values; must not know how they travel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class EffectKey:
    """What makes two requests one: the caller's scope, the tool's version, the caller's key."""

    scope: str
    tool_version: str
    idempotency_key: str


@dataclass(frozen=True, slots=True)
class CreateEvent:
    """Create one event; `request_digest` is that of the arguments."""

    key: EffectKey
    request_digest: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class QueryEvent:
    """What became of a request with this key?"""

    key: EffectKey


@dataclass(frozen=True, slots=True)
class Committed:
    """The event exists. Moments are ISO 8601 with offset."""

    key: EffectKey
    event_id: str
    committed_at: str
    start: str


@dataclass(frozen=True, slots=True)
class NotCommitted:
    """The service says itself that nothing was committed; the same request may be sent again."""

    key: EffectKey
    reason: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The service will not do this, now or later."""

    key: EffectKey
    reason: str
    evidence: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Absent:
    """The answer to a query: there is no event with this key."""

    key: EffectKey


Request: TypeAlias = CreateEvent | QueryEvent
Reply: TypeAlias = Committed | NotCommitted | Refused | Absent
