"""From what a model wrote to what it means: a local date and time in a zone becomes a moment.

Knows time zones. Must not guess: a time that a zone skips or has twice is refused, not moved.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tracediff.toolcalls.rejection import Rejection


def normalise_arguments(arguments: Mapping[str, Any], timezone: str) -> dict[str, Any] | Rejection:
    """Return the arguments of `calendar.create_event` with `start` as a moment with its offset.

    `arguments` have passed the tool's schema. Whole numbers become integers, however they were
    spelled. Rejections: `unknown-timezone`, `nonexistent-time`, `ambiguous-time`,
    `time-out-of-range`.
    """
    start = find_moment(arguments["local_date"], arguments["local_time"], timezone)
    if isinstance(start, Rejection):
        return start
    return {
        "calendar_id": arguments["calendar_id"],
        "title": arguments["title"],
        "start": start.isoformat(timespec="seconds"),
        "duration_minutes": int(arguments["duration_minutes"]),
    }


def find_moment(local_date: str, local_time: str, timezone: str) -> datetime | Rejection:
    """Return the one moment at which clocks in the zone show YYYY-MM-DD and HH:MM."""
    zone = _find_zone(timezone)
    if isinstance(zone, Rejection):
        return zone
    wall = datetime.fromisoformat(f"{local_date}T{local_time}:00")
    shown = f"{local_date} {local_time} in {timezone}"
    evidence = {"local_date": local_date, "local_time": local_time, "timezone": timezone}
    first, second = (wall.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    try:
        # PEP 495: the two readings differ where a zone skips a time or has it twice; a time that
        # is skipped does not come back from UTC as it was.
        if first.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != wall:
            return Rejection("nonexistent-time", f"{shown}: clocks skip this time", evidence)
        if first.utcoffset() != second.utcoffset():
            return Rejection("ambiguous-time", f"{shown}: clocks show this time twice", evidence)
    except OverflowError:
        return Rejection("time-out-of-range", f"{shown}: beyond what can be reckoned", evidence)
    offset = first.utcoffset()
    if offset is None or offset % timedelta(minutes=1):
        return Rejection(
            "time-out-of-range", f"{shown}: the zone's offset was no whole minute", evidence
        )
    return first


def _find_zone(timezone: str) -> ZoneInfo | Rejection:
    try:
        return ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return Rejection(
            "unknown-timezone",
            f"there is no time zone {timezone!r:.60}",
            {"timezone": timezone},
        )
