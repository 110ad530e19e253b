"""When a request is tried again, and after how long.

Knows statuses, error codes and times as numbers. Must not know sockets; the clock, the sleep and
the random numbers are arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

from tracediff.streaming.payload import NoJson, parse_payload

TRANSIENT: Final = frozenset({429, 500, 502, 503, 504})
NEVER: Final = frozenset({"insufficient_quota", "billing_error", "billing_hard_limit_reached"})
"""Types and codes of errors that do not go away by waiting, whatever their status is."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long one request is tried.

    At most `tries` requests; no wait that would end later than `total` seconds after the start.
    Without Retry-After the n-th wait is a random part of `base * 2^(n-1)` seconds, at least half of
    it and at most `longest`.
    """

    tries: int = 3
    total: float = 60.0
    base: float = 0.5
    longest: float = 8.0


@dataclass(frozen=True, slots=True)
class Clock:
    """Time and chance as a client sees them: all of it can be given.

    `now` is the time in seconds since 1970, `elapsed` counts seconds from any start, `sleep` waits,
    `random` draws from [0, 1).
    """

    now: Callable[[], float]
    elapsed: Callable[[], float]
    sleep: Callable[[float], None]
    random: Callable[[], float]


def parse_retry_after(value: str, now: float) -> float | None:
    """Return the seconds that a Retry-After field asks for (RFC 9110, 10.2.3), None for nonsense.

    `value` is a number of seconds or an HTTP date, `now` is in seconds since 1970. A moment that
    has passed is 0.
    """
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value[:9])
    try:
        moment = parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.fromtimestamp(now, UTC)).total_seconds())


def error_code(body: bytes) -> str:
    """Return the code or type of an error that a body tells, "" where it tells none."""
    try:
        found: Any = parse_payload(body)
    except NoJson:
        return ""
    error = found.get("error") if isinstance(found, dict) else None
    if not isinstance(error, dict):
        return ""
    words = [str(error[key]) for key in ("code", "type") if isinstance(error.get(key), str)]
    never = [word for word in words if word in NEVER]
    return (never or words or [""])[0]


def is_transient(status: int, code: str) -> bool:
    """Whether an error may go away by itself; quota and billing never do."""
    return status in TRANSIENT and code not in NEVER


def next_wait(
    policy: RetryPolicy, number: int, spent: float, retry_after: float | None, chance: float
) -> float | None:
    """Return how long to wait after try `number` (from 1), None for no further try.

    `spent` is the time in seconds since the first try began; `chance` is from [0, 1).
    """
    if number >= policy.tries:
        return None
    grown = min(policy.longest, policy.base * 2.0 ** min(number - 1, 60))
    wait = retry_after if retry_after is not None else grown * (1 + chance) / 2
    return wait if spent + wait <= policy.total else None
