"""Normalisation: a local date and time in a zone becomes one moment, or is refused."""

from typing import Any

import pytest
from toolcalls.calendar_tool import ARGUMENTS, NORMALIZED

from tracediff.toolcalls.normalise import normalise_arguments
from tracediff.toolcalls.rejection import Rejection

# Offsets and changes of clocks: the IANA time zone database.
MOMENTS: dict[str, tuple[str, str, str, str]] = {
    "shanghai": ("2026-07-20", "09:00", "Asia/Shanghai", "2026-07-20T09:00:00+08:00"),
    "utc": ("2026-07-20", "09:00", "UTC", "2026-07-20T09:00:00+00:00"),
    "new-york-summer": ("2026-07-20", "09:00", "America/New_York", "2026-07-20T09:00:00-04:00"),
    "new-york-winter": ("2026-01-20", "09:00", "America/New_York", "2026-01-20T09:00:00-05:00"),
    "before-the-gap": ("2026-03-08", "01:59", "America/New_York", "2026-03-08T01:59:00-05:00"),
    "after-the-gap": ("2026-03-08", "03:00", "America/New_York", "2026-03-08T03:00:00-04:00"),
    "before-the-overlap": ("2026-11-01", "00:59", "America/New_York", "2026-11-01T00:59:00-04:00"),
    "after-the-overlap": ("2026-11-01", "02:00", "America/New_York", "2026-11-01T02:00:00-05:00"),
    "half-hour": ("2026-07-20", "09:00", "Asia/Kolkata", "2026-07-20T09:00:00+05:30"),
    "day-before-the-line": (
        *("2026-07-20", "00:00", "Pacific/Kiritimati"),
        "2026-07-20T00:00:00+14:00",
    ),
}


@pytest.mark.parametrize(("date", "time", "zone", "start"), MOMENTS.values(), ids=MOMENTS)
def test_local_times_become_moments(date: str, time: str, zone: str, start: str) -> None:
    """The start is what clocks in the zone show, with the zone's offset then."""
    found = normalise_arguments({**ARGUMENTS, "local_date": date, "local_time": time}, zone)
    assert isinstance(found, dict)
    assert found["start"] == start


REFUSED: dict[str, tuple[str, str, str, str]] = {
    "skipped": ("2026-03-08", "02:30", "America/New_York", "nonexistent-time"),
    "first-skipped": ("2026-03-29", "02:00", "Europe/Berlin", "nonexistent-time"),
    "twice": ("2026-11-01", "01:30", "America/New_York", "ambiguous-time"),
    "last-twice": ("2026-10-25", "02:59", "Europe/Berlin", "ambiguous-time"),
    # Samoa left out 30 December 2011; Lord Howe Island moves its clocks by half an hour.
    "skipped-day": ("2011-12-30", "12:00", "Pacific/Apia", "nonexistent-time"),
    "half-an-hour-twice": ("2026-04-05", "01:45", "Australia/Lord_Howe", "ambiguous-time"),
    "unknown-zone": ("2026-07-20", "09:00", "Mars/Olympus_Mons", "unknown-timezone"),
    "path-as-zone": ("2026-07-20", "09:00", "../../etc/passwd", "unknown-timezone"),
    "folder-as-zone": ("2026-07-20", "09:00", "America", "unknown-timezone"),
    "zone-with-nul": ("2026-07-20", "09:00", "UTC\0", "unknown-timezone"),
    "no-whole-minute": ("1800-01-01", "12:00", "Europe/Paris", "time-out-of-range"),
    "before-all-years": ("0001-01-01", "00:00", "Asia/Kolkata", "time-out-of-range"),
    "after-all-years": ("9999-12-31", "23:59", "America/New_York", "time-out-of-range"),
}


@pytest.mark.parametrize(("date", "time", "zone", "reason"), REFUSED.values(), ids=REFUSED)
def test_other_times_are_refused(date: str, time: str, zone: str, reason: str) -> None:
    """A time that is not exactly one moment is refused, never moved."""
    found = normalise_arguments({**ARGUMENTS, "local_date": date, "local_time": time}, zone)
    assert isinstance(found, Rejection)
    assert found.reason == reason
    assert found.evidence["timezone"] == zone


@pytest.mark.parametrize("minutes", [10, 10.0])
def test_numbers_have_one_spelling(minutes: Any) -> None:
    """A whole number is an integer afterwards, however it was written."""
    found = normalise_arguments({**ARGUMENTS, "duration_minutes": minutes}, "Asia/Shanghai")
    assert found == dict(NORMALIZED)
    assert isinstance(found, dict)
    assert type(found["duration_minutes"]) is int
