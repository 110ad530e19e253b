"""Traces of the user's own against goldens, paired by name."""

import os
from pathlib import Path

import pytest
from gate_folders import own_trace

from tracediff.diff import Outcome
from tracediff.errors import UsageError
from tracediff.gate import gate_recorded


def fill(folder: Path, **values: float) -> Path:
    """Write traces of these names that differ in one number."""
    for name, value in values.items():
        own_trace(folder / f"{name}.jsonl", value)
    return folder


@pytest.mark.parametrize("jobs", [1, 2])
def test_pairs_by_name(jobs: int, tmp_path: Path) -> None:
    """Traces of one name are compared; one without its counterpart diverges."""
    goldens = fill(tmp_path / "goldens", a=1, b=1, gone=1)
    new = fill(tmp_path / "new", a=1, b=5, extra=1)
    results = gate_recorded(goldens, new, jobs=jobs)
    assert [(result.golden.name, result.diff.outcome) for result in results] == [
        ("a.jsonl", Outcome.EQUAL),
        ("b.jsonl", Outcome.DIVERGED),
        ("extra.jsonl", Outcome.DIVERGED),
        ("gone.jsonl", Outcome.DIVERGED),
    ]
    messages = [result.diff.message for result in results]
    assert messages[:2] == ["", ""]
    assert "no golden" in messages[2]
    assert "no new trace" in messages[3]


def test_broken_new_trace_is_a_result(tmp_path: Path) -> None:
    """A torn new trace is incomplete and never a pass."""
    goldens, new = fill(tmp_path / "goldens", a=1), fill(tmp_path / "new", a=1)
    (new / "a.jsonl").write_bytes((new / "a.jsonl").read_bytes()[:-9])
    (result,) = gate_recorded(goldens, new)
    assert result.diff.outcome is Outcome.INCOMPLETE


ODD = {
    "dangling-link": lambda path: path.symlink_to("nowhere"),
    "folder": lambda path: path.mkdir(),
    "pipe": os.mkfifo,
    "other-case": lambda path: own_trace(path.with_name("b.JSONL"), 5.0),
    "linked-folder": lambda path: path.with_name("sub").symlink_to(
        fill(path.parent.parent / "elsewhere", c=1), target_is_directory=True
    ),
}


@pytest.mark.parametrize("case", ODD)
@pytest.mark.parametrize("side", ["goldens", "new"])
def test_nothing_called_a_trace_is_overlooked(case: str, side: str, tmp_path: Path) -> None:
    """Whatever stands under a trace's name in either folder is compared, or is no pass."""
    goldens, new = fill(tmp_path / "goldens", a=1), fill(tmp_path / "new", a=1)
    fill(new if side == "goldens" else goldens, b=1)
    ODD[case](tmp_path / side / "b.jsonl")
    outcomes = [result.diff.outcome for result in gate_recorded(goldens, new)]
    assert outcomes[0] is Outcome.EQUAL
    assert set(outcomes[1:]) <= {Outcome.UNREADABLE, Outcome.DIVERGED}
    assert outcomes[1:]


def test_unfinished_recording_is_called_so(tmp_path: Path) -> None:
    """A recording that was not finished is no golden that lacks."""
    goldens, new = fill(tmp_path / "goldens", a=1), fill(tmp_path / "new", a=1)
    (new / "boom.jsonl.partial").touch()
    result = gate_recorded(goldens, new)[1]
    assert result.diff.outcome is Outcome.INCOMPLETE
    assert "not finished" in result.diff.message
    assert "--update" not in result.diff.message


@pytest.mark.parametrize(
    ("goldens", "new", "message"),
    [
        pytest.param("goldens", "empty", "holds no trace", id="nothing-new"),
        pytest.param("empty", "new", "holds no golden", id="no-golden"),
        pytest.param("empty", "empty", "holds no golden", id="both-empty"),
        pytest.param("goldens", "absent", "is no folder", id="no-folder"),
        pytest.param("goldens", "goldens/a.jsonl", "is no folder", id="a-file"),
        pytest.param("goldens", "goldens", "in folders apart", id="against-itself"),
        pytest.param("goldens", "new/../goldens", "in folders apart", id="against-itself-spelled"),
        pytest.param("goldens", "goldens/sub", "in folders apart", id="inside"),
    ],
)
def test_wrong_requests(goldens: str, new: str, message: str, tmp_path: Path) -> None:
    """Folders that cannot be told apart or hold nothing are errors."""
    fill(tmp_path / "goldens", a=1)
    fill(tmp_path / "goldens" / "sub", b=1)
    fill(tmp_path / "new", a=1)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=message):
        gate_recorded(tmp_path / goldens, tmp_path / new)
