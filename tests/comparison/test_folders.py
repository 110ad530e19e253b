"""Folders of traces: paired by name, unpaired ones diverge, nothing is never equal."""

from pathlib import Path

import pytest
from trace_building import chain, event

from tracediff.comparison import diff_folders
from tracediff.diff import Outcome
from tracediff.errors import UsageError
from tracediff.storage import write_trace


def fill(folder: Path, **values: int) -> Path:
    """Write traces that differ in one number."""
    for name, value in values.items():
        path = folder / f"{name.replace('__', '/')}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_trace(chain(event("a", state={"n": 0}), event("b", choice={"n": value})), path)
    return folder


def test_pairs_by_name(tmp_path: Path) -> None:
    """Traces of one name are compared, also below the folders; the order is that of the names."""
    left = fill(tmp_path / "l", a=1, b=1, sub__c=1, only=1)
    right = fill(tmp_path / "r", a=1, b=2, sub__c=1, extra=1)
    found = diff_folders(left, right)
    outcomes = [result.outcome.value for result in found]
    assert outcomes == ["equal", "diverged", "diverged", "diverged", "equal"]
    assert [bool(result.message) for result in found] == [False, False, True, True, False]


def test_processes_say_the_same(tmp_path: Path) -> None:
    """More processes change nothing."""
    names = {f"t{n}": n for n in range(9)}
    left, right = fill(tmp_path / "l", **names), fill(tmp_path / "r", **{**names, "t4": 7})
    alone, together = (diff_folders(left, right, jobs=jobs) for jobs in (1, 2))
    assert [r.outcome for r in alone] == [r.outcome for r in together]
    assert [r.outcome for r in alone].count(Outcome.DIVERGED) == 1


def test_broken_files_are_results(tmp_path: Path) -> None:
    """A torn file in a folder is incomplete and the others are compared all the same."""
    left, right = fill(tmp_path / "l", a=1, b=1), fill(tmp_path / "r", a=1, b=1)
    content = (right / "a.jsonl").read_bytes()
    (right / "a.jsonl").write_bytes(content[:-9])
    assert [r.outcome for r in diff_folders(left, right)] == [Outcome.INCOMPLETE, Outcome.EQUAL]


def test_partial_recordings_are_not_overlooked(tmp_path: Path) -> None:
    """A recording that was not finished is a trace that did not arrive."""
    left, right = fill(tmp_path / "l", a=1, b=1), fill(tmp_path / "r", a=1, b=1)
    (right / "b.jsonl").rename(right / "b.jsonl.partial")
    assert [r.outcome for r in diff_folders(left, right)] == [Outcome.EQUAL, Outcome.INCOMPLETE]


def test_empty_folders_are_an_error(tmp_path: Path) -> None:
    """Two folders without a trace are not the same."""
    for name in "lr":
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.timing.jsonl").write_text("{}\n")
    with pytest.raises(UsageError, match="neither"):
        diff_folders(tmp_path / "l", tmp_path / "r")


def test_two_files_of_one_name(tmp_path: Path) -> None:
    """A plain and a compressed trace of one name are not guessed between."""
    left, right = fill(tmp_path / "l", a=1), fill(tmp_path / "r", a=1)
    write_trace(chain(event("a", state={"n": 0})), left / "a.jsonl.gz")
    with pytest.raises(UsageError, match="keep one of them"):
        diff_folders(left, right)
