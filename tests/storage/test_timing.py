"""The timing sidecar."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path

import pytest

from tracediff.errors import CorruptTrace
from tracediff.events.event import Event
from tracediff.storage import TraceWriter, read_timing, timing_path
from tracediff.storage.timing import Timing

ENVIRONMENT = {"numpy": "2.0", "start": "2000-01-01T00:00:00Z"}


@pytest.fixture
def clock() -> Callable[[], int]:
    """A clock that is 10 ns later each time, starting at 1000."""
    times: Iterator[int] = count(1000, 10)
    return lambda: next(times)


def test_the_sidecar_holds_environment_and_times(
    tmp_path: Path, events: Sequence[Event], clock: Callable[[], int]
) -> None:
    """First the environment, then nanoseconds since the start for each event, in order."""
    path = tmp_path / "a.jsonl.gz"
    with TraceWriter(path, environment=ENVIRONMENT, clock=clock) as writer:
        for event in events:
            writer.write(event)
    assert (tmp_path / "a.timing.jsonl").read_bytes() == (
        b'{"numpy":"2.0","start":"2000-01-01T00:00:00Z"}\n'
        b'{"event_id":"e0","ns":10}\n'
        b'{"event_id":"e1","ns":20}\n'
        b'{"event_id":"e2","ns":30}\n'
        b'{"event_id":"e3","ns":40}\n'
    )
    times = {"e0": 10, "e1": 20, "e2": 30, "e3": 40}
    assert read_timing(path) == Timing(ENVIRONMENT, times)


def test_an_event_may_be_written_later_than_it_happened(
    tmp_path: Path, events: Sequence[Event], clock: Callable[[], int]
) -> None:
    """A recorder that holds an event back says when it was."""
    path = tmp_path / "a.jsonl"
    with TraceWriter(path, environment={}, clock=clock) as writer:
        for number, event in enumerate(events):
            writer.write(event, at=1000 + number)
    timing = read_timing(path)
    assert timing == Timing({}, {"e0": 0, "e1": 1, "e2": 2, "e3": 3})


def test_without_environment_there_is_no_sidecar(tmp_path: Path, events: Sequence[Event]) -> None:
    """Nothing is measured for who did not ask; what an earlier run left goes with its trace."""
    path = tmp_path / "a.jsonl"
    stale = timing_path(path)
    stale.write_bytes(b"{}\n")
    with TraceWriter(path) as writer:
        for event in events:
            writer.write(event)
        assert stale.exists()
    assert not stale.exists()
    assert read_timing(path) is None


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        pytest.param(b"", 1, "empty", id="empty"),
        pytest.param(b"{}\n{\n", 2, "not JSON", id="no JSON"),
        pytest.param(b'{}\n{"event_id":"e0"}\n', 2, "expected", id="no time"),
        pytest.param(b'{}\n{"event_id":"e0","ns":1.5}\n', 2, "expected", id="no whole number"),
        pytest.param(b"[]\n", 1, "expected", id="no environment"),
        pytest.param(b'{}\n{"event_id":"e","event_id":"e","ns":1}\n', 2, "twice", id="key twice"),
    ],
)
def test_a_damaged_sidecar_is_named(tmp_path: Path, content: bytes, line: int, reason: str) -> None:
    """The trace does not need it, and the message says so."""
    path = tmp_path / "a.jsonl"
    timing_path(path).write_bytes(content)
    with pytest.raises(CorruptTrace, match="the trace does not need it") as caught:
        read_timing(path)
    assert caught.value.place.line == line
    assert reason in caught.value.reason
