"""Goldens against fresh runs: what passes, what diverges, and what is never a pass."""

from pathlib import Path

import pytest
from gate_folders import changed_choice, golden_of_ddim, own_trace, replaced

from tracediff.diff import Outcome
from tracediff.errors import UsageError
from tracediff.gate import Gated, gate_fixtures
from tracediff.storage import read_trace, write_trace
from tracediff.workloads.fixtures import WORKLOADS
from tracediff.workloads.run import golden_path, run_fixture


def gated(folder: Path, tmp_path: Path, *fixtures: str, create: bool = False) -> list[Gated]:
    """Gate a folder in this process."""
    staging = tmp_path / "staging"
    return gate_fixtures(folder, staging, fixtures=fixtures, create=create, jobs=1)


def truncated(folder: Path) -> None:
    """Cut a golden in its second line."""
    path = folder / "ddim-2d.jsonl"
    path.write_bytes(path.read_bytes()[:900])


SPOILED = {
    "as-recorded": (lambda folder: None, Outcome.EQUAL, ""),
    "another-state": (changed_choice, Outcome.DIVERGED, ""),
    "cut-short": (truncated, Outcome.INCOMPLETE, "the file ends in the middle"),
    "empty-file": (
        lambda folder: (folder / "ddim-2d.jsonl").write_bytes(b""),
        Outcome.INCOMPLETE,
        "",
    ),
    "merge-conflict": (
        lambda folder: (folder / "ddim-2d.jsonl").write_bytes(b"<<<<<<< HEAD\n"),
        Outcome.CORRUPT,
        "ddim-2d.jsonl:1",
    ),
    "unfinished": (
        lambda folder: (folder / "ddim-2d.jsonl").rename(folder / "ddim-2d.jsonl.partial"),
        Outcome.INCOMPLETE,
        "not finished",
    ),
    "unknown-fixture": (
        replaced("ddim-2d.jsonl", '"fixture":"ddim-2d"', '"fixture":"ddim-3d"'),
        Outcome.NOTHING_COMPARED,
        "no fixture 'ddim-3d'",
    ),
    "override-that-is-gone": (
        replaced("ddim-2d.jsonl", '"overrides":{}', '"overrides":{"steps":3}'),
        Outcome.NOTHING_COMPARED,
        "the fresh run of ddim-2d (steps=3) failed: ddim-2d has no setting 'steps'",
    ),
    "injection-that-is-gone": (
        replaced("ddim-2d.jsonl", '"kernel"', '"injection":"rain","kernel"'),
        Outcome.NOTHING_COMPARED,
        "has no injection 'rain'",
    ),
    "kernel-that-is-gone": (
        replaced("ddim-2d.jsonl", '"kernel":"ordered"', '"kernel":"abacus"'),
        Outcome.NOTHING_COMPARED,
        "abacus",
    ),
}


@pytest.mark.parametrize("case", SPOILED)
def test_outcomes(case: str, tmp_path: Path) -> None:
    """A golden that cannot be run again as its header says is never a pass."""
    spoil, outcome, message = SPOILED[case]
    folder = golden_of_ddim(tmp_path / "goldens")
    spoil(folder)
    results = gated(folder, tmp_path)
    first = next(found for found in results if found.golden.name.startswith("ddim-2d.jsonl"))
    assert first.diff.outcome is outcome
    assert message in first.diff.message
    assert first.diff.left == str(first.golden)


RECIPES = {
    "override": ("text-001", {"max_output_tokens": 3}, None, "ordered", "sketch"),
    "injection": ("tool-001", {}, "extra-field", "ordered", "sketch"),
    "kernel": ("text-001", {}, None, "float64", "sketch"),
    "level": ("ddim-2d", {}, None, "ordered", "digest"),
    "all-tensors": ("ddim-2d", {}, None, "ordered", "full"),
}


@pytest.mark.parametrize("case", RECIPES)
def test_runs_as_recorded(case: str, tmp_path: Path) -> None:
    """The fresh run takes overrides, injection, kernel and tensor level from the header."""
    fixture, overrides, injection, kernel, tensors = RECIPES[case]
    trace = run_fixture(fixture, overrides, injection=injection, kernel=kernel, tensors=tensors)
    folder = tmp_path / "goldens"
    folder.mkdir()
    write_trace(trace, folder / "special.jsonl.gz")
    results = {result.golden.name: result for result in gated(folder, tmp_path, fixture)}
    special = results["special.jsonl.gz"]
    assert special.diff.outcome is Outcome.EQUAL
    assert special.new is not None
    assert read_trace(special.new).header == trace.header


def test_every_fixture_and_branch_needs_a_golden(tmp_path: Path) -> None:
    """Each fixture and injection that lacks its golden is a result that is no pass."""
    folder = golden_of_ddim(tmp_path / "goldens")
    wanted = {
        golden_path(name, injection).name
        for name, workload in WORKLOADS.items()
        for injection in (None, *workload.injections)
    }
    results = gated(folder, tmp_path)
    assert {result.golden.name for result in results} == wanted
    missing = [result.diff for result in results if result.golden.name != "ddim-2d.jsonl"]
    assert {diff.outcome for diff in missing} == {Outcome.NOTHING_COMPARED}
    assert all("there is no golden of" in diff.message for diff in missing)


def test_golden_with_overrides_is_no_plain_golden(tmp_path: Path) -> None:
    """A golden under a fixture's name that was recorded otherwise does not stand in for it."""
    folder = tmp_path / "goldens"
    folder.mkdir()
    trace = run_fixture("text-001", {"max_output_tokens": 3})
    write_trace(trace, folder / "text-001.jsonl")
    outcomes = [result.diff.outcome for result in gated(folder, tmp_path, "text-001")]
    assert sorted(outcomes) == [Outcome.EQUAL, Outcome.NOTHING_COMPARED]


def test_golden_of_another_name_will_do(tmp_path: Path) -> None:
    """It is the header that says whose golden it is, wherever it lies."""
    folder = golden_of_ddim(tmp_path / "goldens")
    (folder / "deep").mkdir()
    (folder / "ddim-2d.jsonl").rename(folder / "deep" / "numbers.jsonl")
    (result,) = gated(folder, tmp_path, "ddim-2d")
    assert result.diff.outcome is Outcome.EQUAL


def test_only_the_named_fixtures(tmp_path: Path) -> None:
    """With fixtures named, goldens of others and traces of one's own are left alone."""
    folder = golden_of_ddim(tmp_path / "goldens")
    own_trace(folder / "own.jsonl")
    assert [result.golden.name for result in gated(folder, tmp_path, "ddim-2d")] == [
        "ddim-2d.jsonl"
    ]


def test_fixture_that_crashes_is_a_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that fails in an unforeseen way says so and stops no other."""

    def crash(*arguments: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("tracediff.workloads.ddim_2d_fixture.run_ddim_2d", crash)
    (result,) = gated(golden_of_folder(tmp_path), tmp_path, "ddim-2d")
    assert result.diff.outcome is Outcome.NOTHING_COMPARED
    assert "failed: ZeroDivisionError" in result.diff.message


def golden_of_folder(tmp_path: Path) -> Path:
    """Copy the committed golden, for runs that are to fail."""
    folder = tmp_path / "goldens"
    folder.mkdir()
    (folder / "ddim-2d.jsonl").write_bytes(golden_path("ddim-2d").read_bytes())
    return folder


@pytest.mark.parametrize(
    ("name", "fixtures", "message"),
    [
        pytest.param("empty", (), "holds no golden", id="no-golden"),
        pytest.param("absent", (), "does not exist", id="no-folder"),
        pytest.param("file", (), "is a file", id="a-file"),
        pytest.param("goldens", ("ddim",), "no fixture 'ddim'; did you mean", id="no-fixture"),
    ],
)
def test_wrong_requests(name: str, fixtures: tuple[str, ...], message: str, tmp_path: Path) -> None:
    """What cannot be gated is an error, never a pass."""
    golden_of_ddim(tmp_path / "goldens")
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=message):
        gated(tmp_path / name, tmp_path, *fixtures)


def test_repository_passes_its_own_gate(tmp_path: Path) -> None:
    """Every committed golden is reproduced, and none is missing."""
    results = gate_fixtures(golden_path("text-001").parent, tmp_path)
    assert {result.diff.outcome for result in results} == {Outcome.EQUAL}
