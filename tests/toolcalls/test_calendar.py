"""The calendar service: one key, one event, and the commit boundary."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from toolcalls.calendar_world import SEED, key, request, service_at

from tracediff.toolcalls.calendar import (
    CalendarService,
    ServicePoint,
    StorageTimeout,
    derive_identity,
)
from tracediff.toolcalls.messages import Absent, Committed, NotCommitted, QueryEvent, Refused

# Chapter 7, 7.13: what the external attempt returns, a second after 14:00:03.
RECEIPT = Committed(key(), "evt_6K2", "2026-07-19T14:00:04+08:00", "2026-07-20T09:00:00+08:00")


@pytest.fixture
def service() -> Iterator[CalendarService]:
    with closing(service_at()) as found:
        yield found


def test_an_event_is_created(service: CalendarService) -> None:
    """The first request makes the event, with the id and the time that the seed gives."""
    assert service.handle(request()) == RECEIPT
    assert service.event_count() == 1


def test_the_same_request_again_is_the_same_event(service: CalendarService) -> None:
    """A repeated request gets the first one's receipt and makes nothing."""
    assert [service.handle(request()) for _ in range(3)] == [RECEIPT] * 3
    assert service.event_count() == 1


def test_a_key_is_not_lent_to_another_request(service: CalendarService) -> None:
    """The same key with other arguments is refused with both digests, never answered as its own."""
    service.handle(request())
    other = request(title="带雨伞")
    assert service.handle(other) == Refused(
        key(),
        "key-used-for-another-request",
        {"stored_digest": request().request_digest, "request_digest": other.request_digest},
    )
    assert service.event_count() == 1


def test_the_digest_must_be_the_arguments(service: CalendarService) -> None:
    """Arguments that are not those of the digest are refused before anything is looked up."""
    honest = request()
    forged = type(honest)(honest.key, honest.request_digest, {**honest.arguments, "title": "x"})
    reply = service.handle(forged)
    assert isinstance(reply, Refused)
    assert reply.reason == "digest-of-other-arguments"
    assert service.event_count() == 0


def test_other_keys_make_other_events(service: CalendarService) -> None:
    """Key, scope and version together are what is unique."""
    first, second = service.handle(request("k1")), service.handle(request("k2"))
    assert isinstance(first, Committed)
    assert isinstance(second, Committed)
    assert first.event_id != second.event_id
    assert service.event_count() == 2


def test_queries_find_what_is_committed(service: CalendarService) -> None:
    """A query by key finds the event, and nothing where there is none."""
    assert service.handle(QueryEvent(key())) == Absent(key())
    service.handle(request())
    assert service.handle(QueryEvent(key())) == RECEIPT
    assert service.handle(QueryEvent(key("other"))) == Absent(key("other"))


def test_a_storage_timeout_commits_nothing(service: CalendarService) -> None:
    """What is given up before COMMIT is rolled back and said to be; a retry makes the event."""

    def give_up(point: ServicePoint) -> None:
        if point is ServicePoint.BEFORE_COMMIT:
            raise StorageTimeout

    assert service.handle(request(), give_up) == NotCommitted(key(), "storage-timeout")
    assert service.handle(QueryEvent(key())) == Absent(key())
    reply = service.handle(request())
    assert isinstance(reply, Committed)
    assert reply.event_id == "evt_6K2"


def test_the_points_come_in_order(service: CalendarService) -> None:
    """A new event passes all points; a repetition and a query only the first."""
    seen: list[ServicePoint] = []
    service.handle(request(), seen.append)
    assert seen == [ServicePoint.RECEIVED, ServicePoint.BEFORE_COMMIT, ServicePoint.AFTER_COMMIT]
    seen.clear()
    service.handle(request(), seen.append)
    service.handle(QueryEvent(key()), seen.append)
    assert seen == [ServicePoint.RECEIVED] * 2


def test_the_commit_is_the_databases(tmp_path: Path) -> None:
    """Before COMMIT another connection sees nothing, right after it the event."""
    path = tmp_path / "calendar.db"
    counts: dict[ServicePoint, int] = {}

    def look(point: ServicePoint) -> None:
        with closing(sqlite3.connect(path)) as other:
            (counts[point],) = other.execute("SELECT count(*) FROM events").fetchone()

    with closing(service_at(path)) as service:
        service.handle(request(), look)
    assert counts == {
        ServicePoint.RECEIVED: 0,
        ServicePoint.BEFORE_COMMIT: 0,
        ServicePoint.AFTER_COMMIT: 1,
    }


def test_a_restart_forgets_nothing(tmp_path: Path) -> None:
    """A service on the same file knows the key, and its next id is the next one."""
    path = tmp_path / "calendar.db"
    with closing(service_at(path)) as first:
        first.handle(request())
        second_there = first.handle(request("k2"))
    with closing(service_at(tmp_path / "other.db")) as other:
        other.handle(request())
    with closing(service_at(tmp_path / "other.db")) as restarted:
        assert restarted.handle(request()) == RECEIPT
        second_here = restarted.handle(request("k2"))
    assert isinstance(second_there, Committed)
    assert isinstance(second_here, Committed)
    assert second_there.event_id == second_here.event_id


def test_a_file_is_kept_in_a_write_ahead_log(tmp_path: Path) -> None:
    """A database in a file is in WAL mode."""
    path = tmp_path / "calendar.db"
    with closing(service_at(path)), closing(sqlite3.connect(path)) as other:
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_ids_are_derived_from_the_seed() -> None:
    """The fixture's seed gives the chapter's id; another seed or number another one."""
    assert derive_identity(SEED, 0) == ("evt_6K2", 1)
    assert derive_identity(SEED, 1)[0] != "evt_6K2"
    assert derive_identity(SEED + 1, 0)[0] != "evt_6K2"


def test_ids_that_meet_are_told_apart() -> None:
    """Where two numbers give one id, the second event gets the next id."""
    ids: set[str] = set()
    with closing(service_at(seed=1)) as service:
        for number in range(400):
            reply = service.handle(request(f"k{number}"))
            assert isinstance(reply, Committed)
            ids.add(reply.event_id)
    drawn = [derive_identity(1, number)[0] for number in range(400)]
    assert len(set(drawn)) < 400, "no two of these meet, so nothing was tested"
    assert len(ids) == 400
