"""A file under its final name is a whole trace; everything else stays `.partial`."""

from __future__ import annotations

import gzip
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tracediff.errors import IllegalState, IncompleteTrace, StorageError, UsageError
from tracediff.events.event import Event
from tracediff.storage import TraceWriter, read_trace, write_trace
from tracediff.storage.partial import PartialFile


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "plain", "ä \n*.jsonl", "x" * 240])
def test_what_is_written_is_read(tmp_path: Path, events: Sequence[Event], name: str) -> None:
    """While it is written the file is `.partial`; afterwards it is a whole trace."""
    path = tmp_path / name
    with TraceWriter(path) as writer:
        for event in events:
            writer.write(event)
        assert names(tmp_path) == {f"{name}.partial"}
    assert names(tmp_path) == {name}
    assert read_trace(path).events == tuple(events)


def test_compressed_traces_are_equal_bytes(tmp_path: Path, events: Sequence[Event]) -> None:
    """Neither name nor time of writing shows in a compressed trace."""
    write_trace(events, tmp_path / "a.jsonl.gz")
    write_trace(events, tmp_path / "b.jsonl.gz")
    first, second = ((tmp_path / f"{name}.jsonl.gz").read_bytes() for name in "ab")
    assert first == second
    write_trace(events, tmp_path / "a.jsonl")
    assert gzip.decompress(first) == (tmp_path / "a.jsonl").read_bytes()


def test_an_exception_leaves_the_partial(tmp_path: Path, events: Sequence[Event]) -> None:
    """What was written until then is readable, as incomplete; the old trace is untouched."""
    path = tmp_path / "a.jsonl"
    write_trace(events, path)
    before = path.read_bytes()
    with pytest.raises(ZeroDivisionError):
        _write_and_fail(path, events[:2])
    assert path.read_bytes() == before
    assert names(tmp_path) == {
        "a.jsonl",
        "a.jsonl.partial",
        "a.timing.jsonl.partial",
    }
    with pytest.raises(IncompleteTrace, match="not finished"):
        read_trace(tmp_path / "a.jsonl.partial")
    assert (tmp_path / "a.jsonl.partial").read_bytes().count(b"\n") == 2


def _write_and_fail(path: Path, events: Sequence[Event]) -> None:
    with TraceWriter(path, environment={}) as writer:
        for event in events:
            writer.write(event)
        raise ZeroDivisionError


def test_a_stale_partial_does_not_block(tmp_path: Path, events: Sequence[Event]) -> None:
    """What a killed run left is overwritten, also where it is longer."""
    (tmp_path / "a.jsonl.partial").write_bytes(b"x" * 100_000)
    write_trace(events, tmp_path / "a.jsonl")
    assert read_trace(tmp_path / "a.jsonl").events == tuple(events)
    assert names(tmp_path) == {"a.jsonl"}


def test_two_writers_do_not_mix(tmp_path: Path, events: Sequence[Event]) -> None:
    """The second writer of a trace is refused while the first writes, and not after."""
    path = tmp_path / "a.jsonl"
    with TraceWriter(path) as writer:
        writer.write(events[0])
        with pytest.raises(StorageError, match="being written at this moment"):
            TraceWriter(path)
        for event in events[1:]:
            writer.write(event)
    write_trace(events, path)
    assert read_trace(path).events == tuple(events)


def test_a_refused_sidecar_leaves_the_name_free(tmp_path: Path, events: Sequence[Event]) -> None:
    """Where the second file cannot be opened, the first is given up as well."""
    path = tmp_path / "a.jsonl"
    (tmp_path / "a.timing.jsonl").mkdir()
    with pytest.raises(StorageError, match="is a folder"):
        TraceWriter(path, environment={})
    (tmp_path / "a.timing.jsonl").rmdir()
    write_trace(events, path)


def test_a_child_process_does_not_keep_the_name(tmp_path: Path, events: Sequence[Event]) -> None:
    """A forked worker inherits the open file; once the run is abandoned, another may start."""
    path = tmp_path / "a.jsonl"
    writer = TraceWriter(path)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writing)
        os.read(reading, 1)  # until the parent has done its part
        os._exit(0)
    try:
        writer.abandon()
        write_trace(events, path)
    finally:
        os.close(writing)
        os.close(reading)
        os.waitpid(child, 0)


@pytest.mark.parametrize(
    ("prepare", "name", "reason"),
    [
        pytest.param(
            lambda folder: None, "no/a.jsonl", "folder .*/no does not exist", id="missing"
        ),
        pytest.param(
            lambda folder: None, "no/b/a.jsonl", "folder .*/no does not", id="missing above"
        ),
        pytest.param(lambda folder: (folder / "f").touch(), "f/a.jsonl", "no folder", id="a file"),
        pytest.param(lambda folder: (folder / "d").mkdir(), "d", "is a folder", id="a folder"),
        pytest.param(lambda folder: os.mkfifo(folder / "p"), "p", "no regular file", id="a pipe"),
        pytest.param(
            lambda folder: os.mkfifo(folder / "a.partial"),
            "a",
            "no regular file",
            id="partial is a pipe",
        ),
        pytest.param(
            lambda folder: (folder / "a.partial").symlink_to("other"),
            "a",
            "symbolic link",
            id="partial is a link",
        ),
        pytest.param(lambda folder: None, "x" * 250, "name is too long", id="name too long"),
    ],
)
def test_where_a_trace_cannot_be_written(
    tmp_path: Path, prepare: Callable[[Path], object], name: str, reason: str
) -> None:
    """One clear sentence says which path, and why."""
    prepare(tmp_path)
    before = names(tmp_path)
    with pytest.raises(StorageError, match=reason) as caught:
        TraceWriter(tmp_path / name)
    assert str(caught.value).startswith(f"cannot write {tmp_path / name}: ")
    assert names(tmp_path) == before


@pytest.mark.parametrize("name", ["a.timing.jsonl", "a.TIMING.JSONL", ".timing.jsonl"])
def test_the_name_of_a_sidecar_is_refused(name: str, tmp_path: Path) -> None:
    """A trace under the name of a timing sidecar would never be compared."""
    with pytest.raises(StorageError, match=r"leave \.timing out"):
        TraceWriter(tmp_path / name)
    assert names(tmp_path) == set()


def test_a_device_is_not_replaced() -> None:
    """Writing to /dev/null as root must not put a file in its place."""
    with pytest.raises(StorageError, match="no regular file"):
        TraceWriter("/dev/null")
    assert not Path("/dev/null").is_file()


@pytest.mark.parametrize(
    ("count", "stated"),
    [pytest.param(4, 3, id="too few stated"), pytest.param(3, None, id="no end")],
)
def test_only_a_whole_trace_is_finished(
    tmp_path: Path, events: Sequence[Event], count: int, stated: int | None
) -> None:
    """A trace that would read as incomplete does not get its name."""
    path = tmp_path / "a.jsonl"
    writer = TraceWriter(path)
    for event in events[:count]:
        wrong = "end" in event.payload
        writer.write(replace(event, payload={"end": {"events": stated}}) if wrong else event)
    with pytest.raises(IllegalState, match="the trace is not whole"):
        writer.finish()
    assert names(tmp_path) == {"a.jsonl.partial"}


def test_after_the_end_nothing_follows(tmp_path: Path, events: Sequence[Event]) -> None:
    """A finished writer refuses events, and to finish again; abandoning it changes nothing."""
    writer = TraceWriter(tmp_path / "a.jsonl")
    for event in events:
        writer.write(event)
    writer.finish()
    with pytest.raises(IllegalState, match="no event can follow"):
        writer.write(events[0])
    with pytest.raises(IllegalState, match="already"):
        writer.finish()
    writer.abandon()
    assert read_trace(tmp_path / "a.jsonl").events == tuple(events)


def test_a_value_that_json_cannot_hold_is_named(tmp_path: Path, events: Sequence[Event]) -> None:
    """Event and field are named, and the line is not begun."""
    with TraceWriter(tmp_path / "a.jsonl") as writer:
        writer.write(events[0])
        with pytest.raises(UsageError, match=r"event e1: payload\.state\.x: nan is no JSON"):
            writer.write(replace(events[1], payload={"state": {"x": math.nan}}))
        for event in events[1:]:
            writer.write(event)
    assert read_trace(tmp_path / "a.jsonl").events == tuple(events)


def test_a_slow_run_is_seen_while_it_runs(tmp_path: Path, events: Sequence[Event]) -> None:
    """An event that comes long after the last flush reaches the file at once."""
    times = iter([0, 1, 10**9, 10**9 + 1, 10**9 + 2])
    with TraceWriter(tmp_path / "a.jsonl", clock=lambda: next(times)) as writer:
        partial = tmp_path / "a.jsonl.partial"
        sizes = []
        for event in events:
            writer.write(event)
            sizes.append(partial.read_bytes().count(b"\n"))
    assert sizes == [0, 2, 2, 2]


def test_a_rename_in_between_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A partial that got its final name before it was locked is not written into."""
    path = tmp_path / "a.jsonl"
    finished = PartialFile(path)
    finished.write(b"finished\n")
    finished.seal()
    opened = os.open

    def open_late(name: Path, flags: int, mode: int = 0o777) -> int:
        descriptor = opened(name, flags, mode)
        monkeypatch.setattr(os, "open", opened)
        finished.publish()  # by the other writer, between opening and locking
        return descriptor

    monkeypatch.setattr(os, "open", open_late)
    second = PartialFile(path)
    second.write(b"second\n")
    assert path.read_bytes() == b"finished\n"
    second.seal()
    second.publish()
    assert path.read_bytes() == b"second\n"
