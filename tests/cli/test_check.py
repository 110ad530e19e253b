"""The command check: what it says about traces, and about what is none."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from tracediff.recording.recorder import Recorder

Command = Callable[..., Any]


def test_check_holds_and_breaks(tracediff: Command, tmp_path: Path) -> None:
    """check exits 0 where the contract holds, and names rule and event where it is broken."""
    tracediff("run", "text-001", "-o", "a.jsonl")
    assert tracediff("check", "a.jsonl").status == 0
    text = (tmp_path / "a.jsonl").read_text("utf-8")
    (tmp_path / "b.jsonl").write_text(text.replace('"sequence_no":2', '"sequence_no":7'), "utf-8")
    done = tracediff("check", "a.jsonl", "b.jsonl")
    assert done.status == 1
    assert "b.jsonl: e14: deltas-are-numbered: sequence number 7, expected 2" in done.out


def test_check_outranks(tracediff: Command) -> None:
    """2 outranks 1 and 0, and what can be checked is checked all the same."""
    tracediff("run", "text-001", "-o", "a.jsonl")
    done = tracediff("check", "missing.jsonl", "a.jsonl")
    assert done.status == 2
    assert "a.jsonl: 25 events" in done.out
    assert "missing.jsonl" in done.err


def test_check_skips_sidecars_of_a_glob(tracediff: Command) -> None:
    """A glob over a folder of runs finds timing sidecars; they are no traces."""
    tracediff("run", "text-001")
    names = ("runs/text-001.jsonl", "runs/text-001.timing.jsonl")
    assert tracediff("check", *names).status == 0
    assert tracediff("check", names[1], names[1]).status == 2


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz"])
def test_check_of_a_sidecar_names_its_trace(ending: str, tracediff: Command) -> None:
    """A timing sidecar alone is no trace, and the trace it belongs to is named."""
    tracediff("run", "text-001", "-o", f"a{ending}")
    done = tracediff("check", "a.timing.jsonl")
    assert (done.status, done.out) == (2, "")
    assert done.err == (
        f"tracediff: a.timing.jsonl is a timing sidecar and no trace; it belongs to a{ending}\n"
    )


@pytest.mark.parametrize("indent", [None, 1])
def test_json_that_is_no_trace(indent: int | None, tracediff: Command, tmp_path: Path) -> None:
    """A JSON array, and JSON printed for people, are told that an event takes one line."""
    tracediff("run", "text-001", "-o", "a.jsonl")
    events = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text("utf-8").splitlines()]
    for name, content in (("array", events), ("event", events[0])):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(content, indent=indent) + "\n", "utf-8")
    for name in ("array", "event") if indent else ("array",):
        done = tracediff("check", f"{name}.jsonl")
        assert done.status == 2
        assert "one event a line" in done.err


def test_check_prints_what_the_reader_noticed(tracediff: Command, tmp_path: Path) -> None:
    """Oddities of a file that change nothing are warnings on stderr."""
    tracediff("run", "text-001", "-o", "a.jsonl")
    content = (tmp_path / "a.jsonl").read_bytes()
    first, rest = content.split(b"\n", 1)
    odd = b"\xef\xbb\xbf" + (first + b"\n" + first + b"\n" + rest).replace(b"\n", b"\r\n")
    (tmp_path / "b.jsonl").write_bytes(odd)
    done = tracediff("check", "b.jsonl")
    assert done.status == 0
    for word in ("BOM", "CRLF", "duplicates"):
        assert f"tracediff: warning: b.jsonl: {word}: " in done.err


def test_check_lists_rules(tracediff: Command) -> None:
    """-v lists every applied rule with its statement; without rules none is said to hold."""
    tracediff("run", "text-001", "-o", "a.jsonl")
    done = tracediff("check", "-v", "a.jsonl")
    reports = json.loads(tracediff("check", "--json", "a.jsonl").out)
    for rule in reports[0]["rules"]:
        assert f"  holds {rule}: " in done.out
    assert all(cell_len(line) <= 80 for line in done.out.splitlines())


def test_check_without_rules(tracediff: Command, tmp_path: Path) -> None:
    """Of a trace without contract rules nothing is said to hold."""
    with Recorder(tmp_path / "a.jsonl") as recorder:
        recorder.event("loop", "step", state={"n": 1})
    done = tracediff("check", "a.jsonl")
    assert done.status == 0
    assert done.out == "a.jsonl: 1 event, valid; there are no contract rules for generic traces\n"
