"""When a recording is final: what a sink is told, in which order, and what happens on errors."""

from typing import Any

import pytest

from tracediff.errors import IllegalState, StorageError, UsageError
from tracediff.events import Event
from tracediff.recording.recorder import Recorder
from tracediff.recording.sinks import MemorySink


class CallSink(MemorySink):
    """A memory sink that notes what it is told, and fails where it should."""

    def __init__(self, fail_at: str | None = None) -> None:
        super().__init__()
        self.calls: list[str] = []
        self.fail_at = fail_at

    def _note(self, call: str) -> None:
        self.calls.append(call)
        if call == self.fail_at:
            raise StorageError("no space left")

    def write(self, event: Event, *, at: int | None = None) -> None:
        self._note(f"write {event.event_id}")
        super().write(event)

    def finish(self) -> None:
        self._note("finish")
        super().finish()

    def abandon(self) -> None:
        self._note("abandon")


def record_two(recorder: Recorder) -> None:
    """Record two events and close."""
    with recorder:
        recorder.event("a", "b")
        recorder.event("a", "b")


def record_and_fail(recorder: Recorder, events: int) -> None:
    """Record some events and leave by an exception."""
    with recorder:
        for _ in range(events):
            recorder.event("a", "b")
        raise KeyError("mine")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(
            {"kind": "txt"}, "unknown kind of trace 'txt'; known are text, image", id="kind"
        ),
        pytest.param({"tensors": "all"}, "unknown tensor level 'all'; allowed are", id="level"),
    ],
)
def test_refused_options(options: dict[str, Any], message: str) -> None:
    """Unknown words are refused before the sink is touched."""
    sink = CallSink()
    with pytest.raises(UsageError, match=message):
        Recorder(sink, **options)
    assert sink.calls == []


def test_one_event_is_held_back() -> None:
    """An event is written when the next one comes, the last one with the count on closing."""
    sink = CallSink()
    recorder = Recorder(sink)
    recorder.event("a", "b")
    assert sink.calls == []
    recorder.event("a", "b")
    assert sink.calls == ["write e00"]
    recorder.close()
    assert sink.calls == ["write e00", "write e01", "finish"]


def test_nothing_follows_the_end() -> None:
    """After closing, recording and closing again are refused, and leaving the block is fine."""
    sink = CallSink()
    with Recorder(sink) as recorder:
        recorder.event("a", "b")
        recorder.close()
        with pytest.raises(IllegalState, match="closed; no event can follow"):
            recorder.event("a", "b")
        with pytest.raises(IllegalState, match="closed already"):
            recorder.close()
    assert sink.calls == ["write e00", "finish"]


def test_nothing_recorded() -> None:
    """A recording without events is no trace."""
    sink = CallSink()
    with pytest.raises(IllegalState, match="nothing was recorded"), Recorder(sink):
        pass
    assert sink.calls == ["abandon"]


@pytest.mark.parametrize("events", [0, 1, 3])
def test_an_exception_leaves_an_incomplete_trace(events: int) -> None:
    """Leaving the block by an exception writes what there is, without an end."""
    sink = CallSink()
    recorder = Recorder(sink)
    with pytest.raises(KeyError, match="mine"):
        record_and_fail(recorder, events)
    assert sink.calls == [*(f"write e0{n}" for n in range(events)), "abandon"]
    with pytest.raises(ValueError, match="not finished"):
        sink.trace("test")
    with pytest.raises(IllegalState):
        recorder.event("a", "b")


@pytest.mark.parametrize("fail_at", ["write e01", "finish"])
def test_a_failing_sink_is_abandoned(fail_at: str) -> None:
    """Where the last event cannot be written, the trace is not made final."""
    sink = CallSink(fail_at)
    with pytest.raises(StorageError, match="no space left"):
        record_two(Recorder(sink))
    assert sink.calls[-1] == "abandon"
    with pytest.raises(ValueError, match="not finished"):
        sink.trace("test")


def test_a_sink_that_fails_on_the_way_is_abandoned_once() -> None:
    """An error of the sink within the block ends the recording like any other."""
    sink = CallSink("write e00")
    with pytest.raises(StorageError, match="no space left"):
        record_two(Recorder(sink))
    assert sink.calls.count("abandon") == 1
    assert "finish" not in sink.calls
