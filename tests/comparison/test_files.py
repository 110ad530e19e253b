"""Files compared as streams say what comparing them whole says, and memory stays constant."""

import gzip
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from trace_building import chain, changed, event, tensor, trace, with_payload

from tracediff.comparison import diff_files, files
from tracediff.diff import Outcome, diff_traces
from tracediff.events import Trace
from tracediff.storage import halves, read_trace, trace_file, write_trace
from tracediff.workloads.run import run_fixture

RANDOM = np.random.default_rng(3).standard_normal((20, 10)).astype(np.float32)


@pytest.fixture(autouse=True)
def stream_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files of any size take the way of the large ones."""
    monkeypatch.setattr(files, "SMALL", 0)


def sketched(factor: float = 1.0, count: int = 12) -> Trace:
    """Return a chain of events with a sketch each, all scaled by a factor."""
    array = RANDOM * np.float32(factor)
    return chain(
        *(
            event(
                f"e{n}",
                step=n,
                state={"n": n},
                outputs=[tensor("x", array + np.float32(n), level="sketch")],
            )
            for n in range(count)
        )
    )


def calls(prefix: str, argument: int = 0) -> Trace:
    """Return parallel calls with local ids and their results."""
    events = [event("r", state={"n": 0})]
    for n in range(6):
        events.append(event(f"c{n}", "r", "call", step=n, ids={"call": f"{prefix}{n}"}))
        events.append(
            event(
                f"a{n}",
                f"c{n}",
                "result",
                step=n,
                ids={"call": f"{prefix}{n}"},
                choice={"v": n + (argument if n == 4 else 0)},
            )
        )
    return trace(events)


def text(**overrides: Any) -> Trace:
    return run_fixture("text-001", overrides)


PAIRS: dict[str, Callable[[], tuple[Trace, Trace]]] = {
    "same": lambda: (text(), text()),
    "kernel": lambda: (text(), run_fixture("text-001", kernel="blas")),
    "stopped": lambda: (text(), text(max_output_tokens=3)),
    "masked": lambda: (text(), text(minimum_output_tokens=6)),
    "prompt": lambda: (text(), text(prompt="天空是蓝色")),
    "sketches-within": lambda: (sketched(), sketched(1 + 1e-6)),
    "sketches-beyond": lambda: (sketched(), sketched(1 + 1e-3)),
    "sketches-and-state": lambda: (
        sketched(),
        changed(sketched(1 + 1e-6), "e5", state={"n": 6}),
    ),
    "last-event": lambda: (
        sketched(),
        changed(sketched(), "e11", state={"n": 0}),
    ),
    "first-event": lambda: (sketched(), changed(sketched(), "e0", note="x")),
    "renamed-ids": lambda: (calls("a"), calls("b")),
    "renamed-ids-and-value": lambda: (calls("a"), calls("b", 1)),
    "one-value": lambda: (calls("a"), calls("a", 1)),
    "contradicting-ids": lambda: (
        calls("a"),
        changed(calls("a"), "a4", ids={"call": "a3"}),
    ),
    "other-order": lambda: (
        calls("a"),
        replace(calls("a"), events=(*reversed(calls("a").events[:-1]), calls("a").events[-1])),
    ),
    "kinds": lambda: (
        trace([event("a", state={"n": 1})], kind="text"),
        trace([event("a", state={"n": 1})], kind="image"),
    ),
    "looks-like-a-tensor": lambda: (
        chain(event("a", state={"t": [tensor("x", RANDOM, level="sketch")]})),
        chain(event("a", state={"t": [tensor("x", RANDOM * 1.0000001, level="sketch")]})),
    ),
    "exact-rule": lambda: tuple(  # type: ignore[return-value]
        changed(
            sketched(factor),
            "e0",
            trace={
                "format": "tracediff-trace/1",
                "kind": "generic",
                "tolerances": [{"match": "x", "mode": "exact"}],
            },
        )
        for factor in (1.0, 1 + 1e-6)
    ),
}


def summary(found: Any) -> dict[str, Any]:
    """Return what must be the same however the files were read."""
    return {
        "outcome": found.outcome,
        "first": found.first and (found.first.left, found.first.right, found.first.check),
        "field": found.first and found.first.difference,
        "cause": found.cause and found.cause.kind,
        "frontier": [(d.left, d.right, d.check) for d in found.frontier],
        "downstream": found.downstream,
        "triggers": found.triggers,
        "visible": found.visible and (found.visible.left, found.visible.check),
        "normalisers": found.normalisers,
    }


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz"])
@pytest.mark.parametrize("case", PAIRS)
def test_streams_say_what_whole_traces_say(case: str, ending: str, tmp_path: Path) -> None:
    """The verdict does not depend on how the files were read."""
    left, right = PAIRS[case]()
    paths = tmp_path / f"left{ending}", tmp_path / f"right{ending}"
    for path, side in zip(paths, (left, right), strict=True):
        write_trace(side, path)
    whole = diff_traces(*(read_trace(path) for path in paths))
    assert summary(diff_files(*paths)) == summary(whole)


def test_same_bytes_are_not_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of files that are the same bytes only the first and the last line are looked at."""
    for name in "ab":
        write_trace(sketched(count=50), tmp_path / f"{name}.jsonl")
    parsed: list[bytes] = []
    parse = files.StepParser.parse
    monkeypatch.setattr(
        "tracediff.storage.trace_file.StepParser.parse",
        lambda self, line: (parsed.append(line), parse(self, line))[1],
    )
    found = diff_files(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert found.outcome is Outcome.EQUAL
    assert found.coverage.identical_bytes == (tmp_path / "a.jsonl").stat().st_size
    assert len(parsed) <= 3


def cut(content: bytes) -> Iterator[bytes]:
    """Yield a file cut at the places that matter."""
    lines = content.splitlines(keepends=True)
    yield b"".join(lines[:-1])
    yield b"".join(lines[:-1]) + lines[-1][:20]
    yield b"".join(lines[:-2]) + lines[-1]
    yield lines[0]
    yield b""


def test_torn_files_are_never_equal(tmp_path: Path) -> None:
    """Two identical torn files are incomplete, however they are torn at the end."""
    write_trace(sketched(), tmp_path / "whole.jsonl")
    content = (tmp_path / "whole.jsonl").read_bytes()
    for number, torn in enumerate(cut(content)):
        paths = [tmp_path / f"{side}{number}.jsonl" for side in "ab"]
        for path in paths:
            path.write_bytes(torn)
        lost_in_the_middle = number == 2
        if lost_in_the_middle:
            continue  # the same bytes are not validated: `check` finds what is missing there
        assert diff_files(*paths).outcome is Outcome.INCOMPLETE
        assert diff_files(tmp_path / "whole.jsonl", paths[0]).outcome is Outcome.INCOMPLETE


def test_partial_files_are_incomplete(tmp_path: Path) -> None:
    """A file that is still called partial is incomplete, whatever it holds."""
    write_trace(sketched(), tmp_path / "a.jsonl")
    partial = tmp_path / "a.jsonl.partial"
    partial.write_bytes((tmp_path / "a.jsonl").read_bytes())
    assert diff_files(partial, partial).outcome is Outcome.INCOMPLETE


@pytest.mark.parametrize(
    ("content", "outcome"),
    [
        pytest.param(b"garbage\n" * 9, Outcome.CORRUPT, id="garbage"),
        pytest.param(b'{"a":1}\n' * 9, Outcome.INVALID, id="no-events"),
    ],
)
def test_equal_garbage_is_not_equal(content: bytes, outcome: Outcome, tmp_path: Path) -> None:
    """Two files that are the same and no traces are not equal traces."""
    for name in "ab":
        (tmp_path / f"{name}.jsonl").write_bytes(content)
    assert diff_files(tmp_path / "a.jsonl", tmp_path / "b.jsonl").outcome is outcome


def test_missing_files_are_unreadable(tmp_path: Path) -> None:
    """A file that is not there is a result of its own, with the reason."""
    write_trace(sketched(), tmp_path / "a.jsonl")
    found = diff_files(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert found.outcome is Outcome.UNREADABLE
    assert "no such file" in found.message


def test_plain_against_compressed(tmp_path: Path) -> None:
    """One file compressed and the other not are the same trace."""
    write_trace(sketched(), tmp_path / "a.jsonl")
    with gzip.open(tmp_path / "b.jsonl.gz", "wb") as stream:
        stream.write((tmp_path / "a.jsonl").read_bytes())
    assert diff_files(tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz").outcome is Outcome.EQUAL


def test_carriage_returns_and_marks_warn(tmp_path: Path) -> None:
    """CR LF and a byte order mark change nothing and are mentioned, also in large files."""
    write_trace(sketched(), tmp_path / "a.jsonl")
    content = (tmp_path / "a.jsonl").read_bytes()
    (tmp_path / "b.jsonl").write_bytes(b"\xef\xbb\xbf" + content.replace(b"\n", b"\r\n"))
    found = diff_files(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert found.outcome is Outcome.EQUAL
    assert len(found.warnings) == 2


@pytest.mark.parametrize(
    "other",
    ['"n":7.0', '"n":true', '"n":-7', '"n":"7"', '"n":7,"n":7', '"n":70000000000000000000000'],
)
def test_spelling_of_numbers_counts(other: str, tmp_path: Path) -> None:
    """Another type, sign or size is a difference; a duplicate key and a bare giant are invalid."""
    write_trace(sketched(), tmp_path / "a.jsonl")
    content = (tmp_path / "a.jsonl").read_text("utf-8")
    (tmp_path / "b.jsonl").write_text(content.replace('"n":7', other), "utf-8")
    found = diff_files(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert found.outcome in (Outcome.DIVERGED, Outcome.INVALID)
    assert (found.outcome is Outcome.INVALID) == ("," in other or len(other) > 20)


def test_settings_and_notes_do_not_diverge(tmp_path: Path) -> None:
    """What never diverges does not diverge in a stream either."""
    left = sketched()
    right = replace(left, events=tuple(with_payload(e, note="other") for e in left.events))
    for name, side in (("a", left), ("b", right)):
        write_trace(side, tmp_path / f"{name}.jsonl")
    assert diff_files(tmp_path / "a.jsonl", tmp_path / "b.jsonl").outcome is Outcome.EQUAL


def test_other_order_is_not_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that stand on both sides in another order are the same events, unparsed."""
    left = calls("a")
    right = replace(left, events=(*left.events[:1], *left.events[-2:0:-1], left.events[-1]))
    for name, side in (("a", left), ("b", changed(right, "a2", choice={"v": 9}))):
        write_trace(side, tmp_path / f"{name}.jsonl")
    monkeypatch.setattr(files, "read_trace", lambda path: pytest.fail("read whole"))
    found = diff_files(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert found.outcome is Outcome.DIVERGED
    assert found.first is not None
    assert found.first.left is not None
    assert found.first.left.event_id == "a2"
    assert found.coverage.matched == len(left.events)


@pytest.mark.parametrize(
    "case", ["sketches-within", "sketches-beyond", "sketches-and-state", "last-event", "one-value"]
)
def test_two_processes_say_the_same(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second process that scans the second half changes nothing in the result."""
    left, right = PAIRS[case]()
    for name, side in (("a", left), ("b", right)):
        write_trace(side, tmp_path / f"{name}.jsonl")
    paths = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    alone = diff_files(*paths)
    monkeypatch.setattr(halves, "WORTH_HALVES", 0)
    files_at_hand = tuple(trace_file.open_trace_file(path) for path in paths)
    assert halves.find_halves(*files_at_hand, 0) is not None
    together = diff_files(*paths)
    assert summary(together) == summary(alone)
    assert together.coverage == alone.coverage
    assert together.worst_within == alone.worst_within


def test_halves_start_with_the_same_event(tmp_path: Path) -> None:
    """Where the second half of right does not start with left's event, there are no halves."""
    write_trace(sketched(count=40), tmp_path / "a.jsonl")
    other = replace(
        sketched(count=40),
        events=tuple(
            replace(e, event_id=f"x{e.event_id}", parent_event_id=p and f"x{p}")
            for e in sketched(count=40).events
            for p in (e.parent_event_id,)
        ),
    )
    write_trace(other, tmp_path / "b.jsonl")
    paths = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    opened = tuple(trace_file.open_trace_file(path) for path in paths)
    assert halves.find_halves(opened[0], opened[0], 0) is None  # too small to be worth it
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(halves, "WORTH_HALVES", 0)
        found = halves.find_halves(opened[0], opened[0], 0)
        assert found is not None
        assert found.left == found.right
        assert halves.find_halves(opened[0], opened[1], 0) is None
