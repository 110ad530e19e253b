"""What a file may look like, and what each is called."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import stat
import tracemalloc
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracediff.errors import (
    CorruptTrace,
    IncompleteTrace,
    InvalidTrace,
    StorageError,
    TracediffError,
    TraceError,
)
from tracediff.events.event import Event
from tracediff.storage import encode_event, read_checked_events, read_events, read_trace
from tracediff.storage.lines import MAX_LINE

Save = Callable[..., Path]


def failure(read: Callable[[], object]) -> TraceError:
    with pytest.raises(TraceError) as caught:
        read()
    return caught.value


def readable(path: Path) -> list[str]:
    """Return the ids of the events that come before the error."""
    found = []
    with suppress(TraceError):
        for located in read_checked_events(path):
            found.append(located.event.event_id)
    return found


def test_a_whole_trace_is_read(
    save: Save, lines: Sequence[bytes], events: tuple[Event, ...]
) -> None:
    """The events are those that were written, and there is nothing to warn of."""
    path = save(lines)
    trace = read_trace(path)
    assert trace.events == events
    assert (trace.name, trace.warnings, trace.kind) == (str(path), (), "loop")


def test_each_event_has_its_place(save: Save, lines: Sequence[bytes]) -> None:
    """Line, byte offset and raw bytes are those of the file."""
    path = save(lines)
    content = path.read_bytes()
    for number, located in enumerate(read_events(path), start=1):
        assert located.line == number
        assert located.raw == lines[number - 1][:-1]
        assert content[located.offset :].startswith(located.raw + b"\n")


@pytest.mark.parametrize(
    ("change", "warned"),
    [
        pytest.param(b"".join, [], id="as written"),
        pytest.param(lambda lines: b"".join(lines)[:-1], [], id="no last line feed"),
        pytest.param(lambda lines: b"\xef\xbb\xbf" + b"".join(lines), ["BOM"], id="F082: BOM"),
        pytest.param(
            lambda lines: b"".join(lines).replace(b"\n", b"\r\n"), ["CRLF"], id="CR LF line ends"
        ),
        pytest.param(
            lambda lines: b"\xef\xbb\xbf" + b"".join(lines).replace(b"\n", b"\r\n"),
            ["BOM", "CRLF"],
            id="BOM and CR LF",
        ),
        pytest.param(
            lambda lines: b"".join([lines[0], lines[1], lines[1], *lines[2:]]),
            ["duplicates"],
            id="F087: a copy right behind",
        ),
        pytest.param(
            lambda lines: b"".join([*lines[:3], lines[1], lines[0], *lines[3:], lines[3]]),
            ["duplicates"],
            id="F087: copies of three events",
        ),
        pytest.param(
            lambda lines: b"\xef\xbb\xbf" + b"".join([lines[0], lines[1], lines[1], *lines[2:]]),
            ["BOM", "duplicates"],
            id="BOM and a copy, for which the file is read twice",
        ),
        pytest.param(
            lambda lines: b"".join([lines[0], lines[2], lines[1], lines[3]]), [], id="siblings swap"
        ),
        pytest.param(
            lambda lines: b"".join(json.dumps(json.loads(line)).encode() + b"\n" for line in lines),
            [],
            id="spaces and escapes, as json.dumps writes",
        ),
    ],
)
def test_oddities_do_not_change_the_trace(
    save: Save,
    lines: Sequence[bytes],
    events: tuple[Event, ...],
    change: Callable[[Sequence[bytes]], bytes],
    warned: list[str],
) -> None:
    """The same events are read; what was smoothed over is said, once."""
    trace = read_trace(save(change(lines)))
    assert {event.event_id: event for event in trace.events} == {e.event_id: e for e in events}
    assert [warning.partition(":")[0] for warning in trace.warnings] == warned


def test_copies_are_counted(save: Save, lines: Sequence[bytes]) -> None:
    """F087: the number of dropped copies is in the warning."""
    trace = read_trace(save([lines[0], *[lines[1]] * 48, lines[2], lines[3]]))
    assert trace.warnings == ("duplicates: byte-identical copies of events were dropped (47)",)
    assert len(trace.events) == 4


def test_child_before_parent_is_legal(save: Save, lines: Sequence[bytes]) -> None:
    """F088: order in the file is not order of causes."""
    trace = read_trace(save([lines[2], lines[1], lines[0], lines[3]]))
    assert [event.event_id for event in trace.events] == ["e2", "e1", "e0", "e3"]


def other(line: bytes, **changes: Any) -> bytes:
    """Return the line with other values at dotted paths (`payload__end__events=3`)."""
    found = json.loads(line)
    for path, value in changes.items():
        *way, last = path.split("__")
        part = found
        for step in way:
            part = part[step]
        part[last] = value
    return json.dumps(found).encode() + b"\n"


DAMAGE: list[Any] = [
    pytest.param(lambda ls: b"", IncompleteTrace, None, "empty", id="empty file"),
    pytest.param(
        lambda ls: b"".join(ls)[:-5],
        IncompleteTrace,
        4,
        "3 events come before it, the last is e2",
        id="F078: torn last line",
    ),
    pytest.param(
        lambda ls: ls[0] + ls[1],
        IncompleteTrace,
        2,
        "stops after 2 events",
        id="F078: cut at a line end",
    ),
    pytest.param(lambda ls: ls[0][:30], IncompleteTrace, 1, "no event comes", id="torn first line"),
    pytest.param(
        lambda ls: b"".join([ls[0], ls[1][:30] + b"\n", *ls[2:]]),
        CorruptTrace,
        2,
        "the line is no event",
        id="F078: bad line in the middle",
    ),
    pytest.param(
        lambda ls: b"".join([*ls[:3], ls[3][:-9] + b"\n"]),
        CorruptTrace,
        4,
        "the line is no event",
        id="bad last line that is ended",
    ),
    pytest.param(
        lambda ls: b"".join([ls[0], b"\n", *ls[1:]]), CorruptTrace, 2, "empty line", id="empty line"
    ),
    pytest.param(
        lambda ls: b"".join([ls[0], b" \t\r\n", *ls[1:]]), CorruptTrace, 2, "empty line", id="blank"
    ),
    pytest.param(
        lambda ls: b"".join([*ls, b"\n"]), CorruptTrace, 5, "empty line", id="empty last line"
    ),
    pytest.param(
        lambda ls: b"".join([ls[0], b"\xef\xbb\xbf" + ls[1], *ls[2:]]),
        CorruptTrace,
        2,
        "byte order mark",
        id="F082: BOM at a later line",
    ),
    pytest.param(
        lambda ls: b"".join([ls[0], b"\xff\xfe\n", *ls[1:]]),
        CorruptTrace,
        2,
        "UTF-8",
        id="no UTF-8",
    ),
    pytest.param(lambda ls: bytes(range(256)), CorruptTrace, 1, "this is no trace", id="garbage"),
    pytest.param(
        lambda ls: b"%PDF-1.7\n", CorruptTrace, 1, "this is no trace", id="another format"
    ),
    pytest.param(
        lambda ls: b'{\n  "a": 1\n}\n', CorruptTrace, 1, "this is no trace", id="indented JSON"
    ),
    pytest.param(
        lambda ls: gzip.compress(b"".join(ls)),
        CorruptTrace,
        1,
        "must end in .gz",
        id="gzip under a plain name",
    ),
    pytest.param(
        lambda ls: b"".join(ls).decode("utf-8", "replace").encode("utf-16"),
        CorruptTrace,
        1,
        "UTF-16",
        id="UTF-16",
    ),
    pytest.param(
        lambda ls: other(ls[0], payload__trace__format="tracediff-trace/2") + b"".join(ls[1:]),
        InvalidTrace,
        1,
        "'tracediff-trace/2', this version reads 'tracediff-trace/1'",
        id="other version",
    ),
    pytest.param(
        lambda ls: other(ls[0], payload__trace__format="x/9", more=1) + b"".join(ls[1:]),
        InvalidTrace,
        1,
        "'x/9', this version reads",
        id="other version with other keys",
    ),
    pytest.param(
        lambda ls: b"".join([ls[0], b"12\n", *ls[1:]]), InvalidTrace, 2, "an object", id="a number"
    ),
    pytest.param(
        lambda ls: b"".join([ls[0], other(ls[1], logical_step=-1), *ls[2:]]),
        InvalidTrace,
        2,
        "at least 0",
        id="valid JSON that is no event",
    ),
    pytest.param(
        lambda ls: b"".join([*ls[:3], ls[3].replace(b"joins", b"join"), b""]),
        InvalidTrace,
        4,
        "unknown section",
        id="misspelt section",
    ),
    pytest.param(
        lambda ls: b"".join([ls[0], ls[1].replace(b'"state":{', b'"state":{"seed":1,'), *ls[2:]]),
        InvalidTrace,
        2,
        "'seed' occurs twice",
        id="a key twice",
    ),
    pytest.param(
        lambda ls: b"".join([ls[0], ls[1].replace(b"18446744073709551615", b"1" * 20), *ls[2:]]),
        None,
        None,
        "",
        id="twenty digits below 2^64",
    ),
    pytest.param(
        lambda ls: b"".join([ls[0], ls[1].replace(b"18446744073709551615", b"9" * 20), *ls[2:]]),
        InvalidTrace,
        2,
        "beyond 64 bits",
        id="an integer of 2^64 and more",
    ),
    pytest.param(
        lambda ls: b"".join([ls[0], ls[1].replace(b'"NaN"', b"NaN"), *ls[2:]]),
        InvalidTrace,
        2,
        'the string "NaN"',
        id="bare NaN",
    ),
    pytest.param(
        lambda ls: b"".join([ls[0], ls[1].replace(b'"layer":0', b'"a":' + b"[" * 100_000)]),
        InvalidTrace,
        2,
        "nested",
        id="depth bomb",
    ),
    pytest.param(
        lambda ls: b"".join([ls[0], ls[1].replace(b'"finite":2', b'"finite":3'), *ls[2:]]),
        InvalidTrace,
        2,
        "is 4, the shape has 3 numbers",
        id="inconsistent tensor",
    ),
    pytest.param(
        lambda ls: b"".join([*ls[:3], other(ls[3], payload__end__events=5)]),
        IncompleteTrace,
        4,
        "states 5 events and holds 4",
        id="end states more",
    ),
    pytest.param(
        lambda ls: b"".join([*ls[:3], other(ls[3], payload__end__events=3)]),
        IncompleteTrace,
        4,
        "states 3 events and holds 4",
        id="end states fewer",
    ),
    pytest.param(
        lambda ls: b"".join([*ls[:2], ls[3], ls[2]]),
        InvalidTrace,
        3,
        "not the last",
        id="end early",
    ),
    pytest.param(
        lambda ls: b"".join([ls[0], ls[1], other(ls[1], logical_step=9), *ls[2:]]),
        InvalidTrace,
        3,
        "in line 2 already, with other content",
        id="F087: one id, two contents",
    ),
    pytest.param(
        lambda ls: b"".join([ls[0], other(ls[1], parent_event_id="x9"), *ls[2:]]),
        InvalidTrace,
        2,
        "no event 'x9'",
        id="F088: missing parent",
    ),
    pytest.param(
        lambda ls: b"".join([*ls[:3], other(ls[3], payload__joins=["x9"])]),
        InvalidTrace,
        4,
        "no event 'x9'",
        id="missing join",
    ),
    pytest.param(
        lambda ls: b"".join([ls[0], other(ls[1], parent_event_id="e1"), *ls[2:]]),
        InvalidTrace,
        2,
        "e1 -> e1",
        id="F089: its own parent",
    ),
    pytest.param(
        lambda ls: b"".join([ls[0], other(ls[1], parent_event_id="e3"), *ls[2:]]),
        InvalidTrace,
        2,
        "e1 -> e3 -> e1",
        id="F089: cycle",
    ),
    pytest.param(
        lambda ls: b"".join([ls[0], other(ls[0], event_id="e9"), *ls[1:]]),
        InvalidTrace,
        2,
        "a second event without parent",
        id="two roots",
    ),
    pytest.param(
        lambda ls: b"".join(ls[1:]), IncompleteTrace, 3, "states 4 events", id="root line lost"
    ),
    pytest.param(
        lambda ls: (
            other(ls[1], parent_event_id="e3") + ls[2] + other(ls[3], payload__end__events=3)
        ),
        InvalidTrace,
        2,
        "nor a root",
        id="no root",
    ),
    pytest.param(
        lambda ls: (
            ls[0] + other(ls[1], payload__trace={"format": "tracediff-trace/1", "kind": "loop"})
        ),
        InvalidTrace,
        2,
        "only the root",
        id="trace section on a child",
    ),
    pytest.param(
        lambda ls: other(ls[0], payload={}) + b"".join(ls[1:]),
        InvalidTrace,
        1,
        "lacks its `trace` section",
        id="root without trace section",
    ),
    pytest.param(
        lambda ls: ls[0] + other(ls[1], trace_id="u") + ls[2] + ls[3],
        InvalidTrace,
        2,
        "a file holds one trace",
        id="two traces in one file",
    ),
]


@pytest.mark.parametrize(("change", "error", "line", "reason"), DAMAGE)
def test_damage_has_a_name_and_a_place(
    save: Save,
    lines: Sequence[bytes],
    change: Callable[[Sequence[bytes]], bytes],
    error: type[TraceError] | None,
    line: int | None,
    reason: str,
) -> None:
    """Each damage has one outcome, and the message says file, line, offset and what is wrong."""
    content = change(lines)
    path = save(content)
    if error is None:
        assert len(read_trace(path).events) == 4
        return
    for source in (path, io.BytesIO(content)):
        found = failure(lambda source=source: read_trace(source))  # type: ignore[misc]
        assert type(found) is error
        assert reason in found.reason
        assert found.place.line == line
        assert "\n" not in str(found)
        if line is not None:
            offset = found.place.offset
            assert offset == sum(len(part) + 1 for part in content.split(b"\n")[: line - 1])


def test_the_field_and_event_are_named(save: Save, lines: Sequence[bytes]) -> None:
    """A message leads to the field: file, line, offset, event, path."""
    broken = lines[1].replace(b'"dtype":"float32"', b'"dtype":32')
    path = save([lines[0], broken, *lines[2:]])
    found = failure(lambda: read_trace(path))
    assert str(found) == (
        f"{path}:2 (byte {len(lines[0])}), event e1, field payload.outputs[0].dtype: "
        "expected a non-empty string, found 32"
    )


def test_events_before_the_damage_are_reachable(save: Save, lines: Sequence[bytes]) -> None:
    """F078: a torn file still gives its good events, then the error."""
    assert readable(save(b"".join(lines)[:-5])) == ["e0", "e1", "e2"]
    assert readable(save([*lines[:2], b"garbage\n", *lines[2:]])) == ["e0", "e1"]


@pytest.mark.parametrize("ending", [b"", b"\r"], ids=["LF", "CR LF"])
def test_no_truncation_reads_as_complete(save: Save, lines: Sequence[bytes], ending: bytes) -> None:
    """Cut at every byte: incomplete, except right before the last line end; never complete."""
    whole = b"".join(lines).replace(b"\n", ending + b"\n")
    complete = []
    for size in range(len(whole)):
        try:
            read_trace(io.BytesIO(whole[:size]))
        except IncompleteTrace:
            continue
        complete.append(size)
    assert complete == list(range(len(whole) - 1 - len(ending), len(whole)))


def test_no_truncation_of_a_compressed_trace_reads_as_complete(
    save: Save, lines: Sequence[bytes]
) -> None:
    """F090: cut at every byte, a gzip file is incomplete."""
    whole = gzip.compress(lines[0]) + gzip.compress(b"".join(lines[1:]))
    path = save(whole, "a.jsonl.gz")
    assert len(read_trace(path).events) == 4
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        assert type(failure(lambda: read_trace(path))) is IncompleteTrace, size


def test_a_cut_gzip_file_keeps_its_events(save: Save, lines: Sequence[bytes]) -> None:
    """F090: 4 bytes short, all events come before the error, which says how many they were."""
    path = save(gzip.compress(b"".join(lines))[:-4], "a.jsonl.gz")
    assert readable(path) == ["e0", "e1", "e2", "e3"]
    found = failure(lambda: read_trace(path))
    assert found.reason == ("the gzip stream is cut off; 4 events come before it, the last is e3")
    assert found.place.line == 5


def test_a_damaged_gzip_file_is_corrupt(save: Save, lines: Sequence[bytes]) -> None:
    """Plain text under a .gz name, and a wrong checksum."""
    assert type(failure(lambda: read_trace(save(lines, "a.jsonl.gz")))) is CorruptTrace
    broken = gzip.compress(b"".join(lines))[:-8] + bytes(8)
    assert type(failure(lambda: read_trace(save(broken, "b.jsonl.gz")))) is CorruptTrace


@pytest.mark.parametrize("name", ["a.jsonl.partial", "a.jsonl.gz.partial"])
@pytest.mark.parametrize("part", ["whole", "torn", "empty", "garbage"])
def test_a_partial_file_is_incomplete_whatever_it_holds(
    save: Save, lines: Sequence[bytes], name: str, part: str
) -> None:
    """The name says that the recording was not finished; its events are reachable."""
    whole = b"".join(lines)
    content = {"whole": whole, "torn": whole[:-5], "empty": b"", "garbage": b"\0\n"}[part]
    path = save(gzip.compress(content) if ".gz" in name else content, name)
    found = failure(lambda: read_trace(path))
    assert type(found) is IncompleteTrace
    assert "was not finished" in found.reason
    assert len(readable(path)) == {"whole": 4, "torn": 3, "empty": 0, "garbage": 0}[part]


def test_a_long_line_is_refused_in_bounded_memory(tmp_path: Path, lines: Sequence[bytes]) -> None:
    """A gigabyte in one line (a hole in the file) is not read to its end."""
    path = tmp_path / "long.jsonl"
    with path.open("wb") as stream:
        stream.write(lines[0])
        stream.seek(1 << 30, os.SEEK_CUR)
        stream.write(b"\n")
    tracemalloc.start()
    found = failure(lambda: read_trace(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * MAX_LINE
    assert type(found) is InvalidTrace
    assert f"longer than {MAX_LINE} bytes" in found.reason
    assert (found.place.line, found.place.offset) == (2, len(lines[0]))


def test_a_long_string_is_read(save: Save, lines: Sequence[bytes]) -> None:
    """A line of several chunks is a line like any other."""
    long = other(lines[2], payload__choice__text="x" * 3_000_000)
    trace = read_trace(save([*lines[:2], long, lines[3]]))
    assert len(trace.events[2].payload["choice"]["text"]) == 3_000_000


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        pytest.param("missing.jsonl", "there is no such file", id="missing"),
        pytest.param("", "this is a folder", id="folder"),
        pytest.param("file/a.jsonl", "no folder", id="below a file"),
        pytest.param("x" * 300, "too long", id="name too long"),
        pytest.param("a\0b", "no path", id="NUL in the name"),
        pytest.param("running.jsonl", "not finished is there", id="only its partial"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path: Path, name: str, reason: str) -> None:
    """One clear line that names the path and says why."""
    (tmp_path / "file").touch()
    (tmp_path / "running.jsonl.partial").touch()
    with pytest.raises(StorageError, match=reason) as caught:
        read_trace(tmp_path / name)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read(save: Save, lines: Sequence[bytes]) -> None:
    """Missing permission is said to be that."""
    path = save(lines)
    path.chmod(0)
    with pytest.raises(StorageError, match="permission denied"):
        read_trace(path)


def test_a_stream_is_read_and_left_open(lines: Sequence[bytes]) -> None:
    """Standard input is a stream: it is called by its name and belongs to the caller."""
    stream = io.BytesIO(b"".join(lines))
    stream.name = "<stdin>"
    trace = read_trace(stream)
    assert (trace.name, len(trace.events), trace.tensors) == ("<stdin>", 4, None)
    assert not stream.closed


def test_a_pipe_is_read_once(tmp_path: Path, lines: Sequence[bytes]) -> None:
    """What cannot be read twice is checked in one go, whatever its order."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    assert stat.S_ISFIFO(path.stat().st_mode)
    if os.fork() == 0:
        path.write_bytes(b"".join([lines[1], lines[1], lines[2], lines[0], lines[3]]))
        os._exit(0)
    assert [event.event_id for event in read_trace(path).events] == ["e1", "e2", "e0", "e3"]
    os.wait()


def test_reading_is_lazy(save: Save, lines: Sequence[bytes]) -> None:
    """Events come while the file is read: the first is there before the damage is met."""
    reading = read_events(save([lines[0], b"garbage\n"]))
    assert next(reading).event.event_id == "e0"
    with pytest.raises(CorruptTrace):
        next(reading)


def test_constant_memory_reading_does_not_see_the_graph(save: Save, lines: Sequence[bytes]) -> None:
    """`read_events` leaves ids and parents to `read_checked_events`, and copies in."""
    path = save([lines[0], lines[1], lines[1], lines[2], lines[3]])
    assert [found.line for found in read_events(path)] == [1, 2, 3, 4, 5]
    assert [found.line for found in read_checked_events(path)] == [1, 2, 4, 5]
    path = save([lines[0], lines[1], lines[0], lines[2], lines[3], lines[3]])
    assert [found.line for found in read_events(path)] == [1, 2, 4, 5]
    orphan = save([lines[0], other(lines[1], parent_event_id="x"), lines[2], lines[3]])
    assert len(list(read_events(orphan))) == 4


DEEP = 20_000


def chain(first_parent: str | None) -> list[bytes]:
    """Return a chain of events whose first has `first_parent`."""
    header = {"trace": {"format": "tracediff-trace/1", "kind": "loop"}}
    ended = {"end": {"events": DEEP}}
    return [
        encode_event(
            Event(
                "t",
                f"e{number}",
                f"e{number - 1}" if number else first_parent,
                "loop",
                "step",
                number,
                {
                    **(header if number == 0 and first_parent is None else {}),
                    **(ended if number == DEEP - 1 else {}),
                },
            )
        )
        for number in range(DEEP)
    ]


def test_a_deep_trace_is_read(save: Save) -> None:
    """F089: depth is no cycle, and needs no recursion, children first or last."""
    lines = chain(None)
    assert len(read_trace(save(lines)).events) == DEEP
    assert len(read_trace(save([*lines[-2::-1], lines[-1]])).events) == DEEP


def test_a_deep_cycle_is_named(save: Save) -> None:
    """F089: a cycle through every event is found in bounded time and shown shortly."""
    found = failure(lambda: read_trace(save(chain(f"e{DEEP - 1}"))))
    assert f"e0 -> e{DEEP - 1} -> e{DEEP - 2}" in found.reason
    assert f"({DEEP} events in all)" in found.reason
    assert len(found.reason) < 300


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60))
def test_arbitrary_bytes_are_no_trace(content: bytes) -> None:
    """Any bytes end in an error of the project, never in another exception."""
    with pytest.raises(TracediffError):
        read_trace(io.BytesIO(content))


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_damaged_traces_never_crash(lines: Sequence[bytes], data: st.DataObject) -> None:
    """Bytes overwritten, cut out or put in: an error of the project, or four events at most."""
    content = bytearray(b"".join(lines))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(content)))
        stop = data.draw(st.integers(start, min(start + 8, len(content))))
        content[start:stop] = data.draw(st.binary(max_size=8) | st.just(bytes(content[:40])))
    with suppress(TraceError):
        assert len(read_trace(io.BytesIO(content)).events) <= 4


def test_damaged_compressed_traces_never_crash(save: Save, lines: Sequence[bytes]) -> None:
    """The same for the bytes of a gzip file."""
    whole = gzip.compress(b"".join(lines))
    chance = random.Random(5)
    for _ in range(300):
        broken = bytearray(whole)
        broken[chance.randrange(len(broken))] = chance.randrange(256)
        stream = io.BytesIO(broken)
        stream.name = "a.jsonl.gz"
        with suppress(TraceError):
            assert len(read_trace(stream).events) == 4
