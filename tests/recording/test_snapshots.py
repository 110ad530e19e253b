"""Tensors that may wait, tensors summarised elsewhere, and sources that hold events back."""

from pathlib import Path

import numpy as np
import pytest

from tracediff import Recorder
from tracediff.errors import UsageError
from tracediff.recording.levels import parse_level
from tracediff.recording.pending import MOST_BYTES, MOST_EVENTS
from tracediff.recording.recordable import Snapshot, Summarised
from tracediff.recording.sinks import MemorySink
from tracediff.recording.summary import summarise_tensor
from tracediff.storage import read_trace


@pytest.mark.parametrize("level", ["digest", "sketch", "values", "full"])
def test_waiting_changes_no_byte(tmp_path: Path, level: str) -> None:
    """A snapshot, a summary made elsewhere and the array itself give the same trace."""
    array = np.random.default_rng(1).standard_normal((3, 50)).astype("f4")
    summary = summarise_tensor(array, level=level)
    kept = array if level == "full" else None
    ways = {
        "array": array,
        "snapshot": Snapshot(array),
        "summarised": Summarised(summary, array=kept),
    }
    found = {}
    for name, tensor in ways.items():
        path = tmp_path / f"{name}.jsonl"
        with Recorder(path, tensors=level) as recorder:
            recorder.event("a", "first", inputs={"x": tensor})
            recorder.event("a", "second", outputs={"x": tensor})
        found[name] = path.read_bytes()
    assert found["snapshot"] == found["array"]
    assert found["summarised"] == found["array"]


@pytest.mark.parametrize(
    ("count", "size"),
    [
        pytest.param(MOST_EVENTS + 5, 70, id="many-events"),
        pytest.param(5, MOST_BYTES // 16, id="many-bytes"),
    ],
)
def test_waiting_ends(count: int, size: int) -> None:
    """Events come out in order, and before the end when many wait."""
    sink = MemorySink()
    with Recorder(sink, tensors="digest") as recorder:
        for step in range(count):
            array = np.full(size, step, "f4")
            recorder.event("a", "b", logical_step=step, outputs={"x": Snapshot(array)})
        assert len(sink._events) > 1
        recorder.event("a", "plain")
    steps = [event.logical_step for event in sink.trace("run").events]
    assert steps == [*range(count), 0]


def test_levels_may_differ() -> None:
    """A snapshot may be kept at a level of its own."""
    sink = MemorySink()
    array = np.arange(100, dtype="f4")
    with Recorder(sink, tensors="digest") as recorder:
        recorder.event("a", "b", outputs={"x": Snapshot(array, level=parse_level("values"))})
    (record,) = sink.trace("run").events[0].payload["outputs"]
    assert record["values"] == array.tolist()


def test_an_unknown_type_is_refused_at_once() -> None:
    """A snapshot of a type that a trace lacks does not wait to be refused."""
    with Recorder(MemorySink()) as recorder:
        recorder.event("a", "b")
        with pytest.raises(UsageError, match="cannot record tensor x"):
            recorder.event("a", "c", outputs={"x": Snapshot(np.array(["text"]))})


class Source:
    """Holds back one event."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.waiting: list[str] = []

    def flush(self) -> None:
        waiting, self.waiting = self.waiting, []
        for event_type in waiting:
            self.recorder.event("source", event_type)


def test_sources_come_first(tmp_path: Path) -> None:
    """What a source held back stands before what is recorded after it, and before the end."""
    path = tmp_path / "run.jsonl"
    with Recorder(path) as recorder:
        source = Source(recorder)
        recorder.add_source(source.flush)
        source.waiting.append("one")
        second = recorder.event("a", "two")
        source.waiting.append("three")
    assert second == "e01"
    types = [event.event_type for event in read_trace(path).events]
    assert types == ["one", "two", "three"]


def test_an_exception_keeps_what_a_source_held(tmp_path: Path) -> None:
    """Leaving by an exception writes what was held back into the incomplete trace."""
    path = tmp_path / "run.jsonl"
    with pytest.raises(ArithmeticError), Recorder(path) as recorder:  # noqa: PT012
        source = Source(recorder)
        recorder.add_source(source.flush)
        source.waiting.append("one")
        raise ArithmeticError
    partial = (tmp_path / "run.jsonl.partial").read_text("utf-8")
    assert '"event_type":"one"' in partial
