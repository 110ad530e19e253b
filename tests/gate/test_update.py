"""Updates of goldens: what changes is written, the rest is untouched, and all of it or nothing."""

import math
import os
from pathlib import Path

import pytest
from gate_folders import changed_choice, golden_of_ddim, own_trace

from tracediff.errors import StorageError, UsageError
from tracediff.gate import Change, gate_fixtures, gate_recorded, plan_update, write_changes
from tracediff.storage import timing_path, write_trace
from tracediff.workloads.run import golden_path, run_fixture

LONG_AGO = 1_000_000_000


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Return what a folder holds: content and time of change of each file."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(p.relative_to(folder)): (p.read_bytes(), p.stat().st_mtime_ns) for p in files}


def aged(folder: Path) -> Path:
    """Make all files of a folder old, so that writing one shows."""
    for path in folder.rglob("*"):
        os.utime(path, (LONG_AGO, LONG_AGO))
    return folder


def update_fixtures(folder: Path, staging: Path, *fixtures: str) -> list[Change]:
    """Update goldens from fresh runs."""
    changes = plan_update(gate_fixtures(folder, staging, fixtures=fixtures, create=True, jobs=1))
    write_changes(changes)
    return changes


def update_recorded(folder: Path, new: Path, *nan_tensors: str) -> list[Change]:
    """Update goldens from recorded traces."""
    changes = plan_update(gate_recorded(folder, new, create=True), nan_tensors)
    write_changes(changes)
    return changes


def kinds(changes: list[Change]) -> dict[str, str]:
    """Return what became of each golden."""
    return {change.golden.name: str(change.kind) for change in changes}


def test_only_what_changed_is_written(tmp_path: Path) -> None:
    """A changed golden gets the fresh run's bytes; an unchanged one keeps its time of change."""
    folder = golden_of_ddim(tmp_path / "goldens")
    write_trace(run_fixture("ddim-2d", tensors="digest"), folder / "digest.jsonl.gz")
    changed_choice(folder)
    before = contents(aged(folder))
    changes = update_fixtures(folder, tmp_path / "staging", "ddim-2d")
    after = contents(folder)
    assert kinds(changes) == {"ddim-2d.jsonl": "rewritten", "digest.jsonl.gz": "unchanged"}
    assert changes[0].diff.first is not None
    assert after["digest.jsonl.gz"] == before["digest.jsonl.gz"]
    assert after["ddim-2d.jsonl"][0] == golden_path("ddim-2d").read_bytes()
    assert set(after) == set(before)


def test_makes_goldens_that_lack(tmp_path: Path) -> None:
    """Goldens of a fixture and its branches come out as the committed ones, byte for byte."""
    folder = tmp_path / "new" / "goldens"
    changes = update_fixtures(folder, tmp_path / "staging", "tool-001")
    assert set(kinds(changes).values()) == {"created"}
    assert len(changes) == 6
    for name, (content, _) in contents(folder).items():
        assert content == golden_path(name.removesuffix(".jsonl")).read_bytes()


def test_golden_that_is_torn_is_made_again(tmp_path: Path) -> None:
    """A golden whose header can be read is repaired."""
    folder = golden_of_ddim(tmp_path / "goldens")
    whole = (folder / "ddim-2d.jsonl").read_bytes()
    (folder / "ddim-2d.jsonl").write_bytes(whole[:-9])
    assert kinds(update_fixtures(folder, tmp_path / "staging", "ddim-2d")) == {
        "ddim-2d.jsonl": "rewritten"
    }
    assert (folder / "ddim-2d.jsonl").read_bytes() == whole


def test_full_tensors_come_along(tmp_path: Path) -> None:
    """A golden that keeps every tensor as a file has them beside it."""
    folder = tmp_path / "goldens"
    folder.mkdir()
    write_trace(run_fixture("ddim-2d", tensors="full"), folder / "full.jsonl")
    before = {name: content for name, (content, _) in contents(folder).items()}
    changed = (folder / "full.jsonl").read_text().replace('"end_timestep":0', '"end_timestep":1', 1)
    (folder / "full.jsonl").write_text(changed)
    for path in (folder / "full.tensors").iterdir():
        path.unlink()
    update_fixtures(folder, tmp_path / "staging", "ddim-2d")
    after = {name: content for name, (content, _) in contents(folder).items()}
    assert {name: after[name] for name in before} == before


def test_stale_times_go(tmp_path: Path) -> None:
    """The timing sidecar of a golden that is rewritten belongs to the trace that was there."""
    folder = golden_of_ddim(tmp_path / "goldens")
    timing_path(folder / "ddim-2d.jsonl").write_text("{}\n")
    changed_choice(folder)
    update_fixtures(folder, tmp_path / "staging", "ddim-2d")
    assert set(contents(folder)) == {"ddim-2d.jsonl"}


def test_failing_run_writes_nothing(tmp_path: Path) -> None:
    """Where one golden cannot be run again, all stay as they are."""
    folder = golden_of_ddim(tmp_path / "goldens")
    changed_choice(folder)
    own_trace(folder / "other.jsonl", fixture="ddim-2d", overrides={"steps": 3})
    before = contents(aged(folder))
    with pytest.raises(UsageError, match=r"no golden was written: .*has no setting 'steps'"):
        update_fixtures(folder, tmp_path / "staging", "ddim-2d")
    assert contents(folder) == before


def test_name_that_is_taken_writes_nothing(tmp_path: Path) -> None:
    """A golden of another run under a fixture's name is not overwritten."""
    folder = tmp_path / "goldens"
    folder.mkdir()
    write_trace(run_fixture("ddim-2d", {"latent": [2.0, 1.0]}), folder / "ddim-2d.jsonl")
    before = contents(aged(folder))
    with pytest.raises(UsageError, match="rename"):
        update_fixtures(folder, tmp_path / "staging", "ddim-2d")
    assert contents(folder) == before


def test_recorded_traces_become_goldens(tmp_path: Path) -> None:
    """New traces replace or make goldens; a golden without a new trace is kept and said."""
    goldens, new = tmp_path / "goldens", tmp_path / "new"
    for name, value in {"same": 1.0, "other": 1.0, "gone": 1.0}.items():
        own_trace(goldens / f"{name}.jsonl", value)
    for name, value in {"same": 1.0, "other": 5.0, "sub/extra": 1.0}.items():
        own_trace(new / f"{name}.jsonl", value)
    before = contents(aged(goldens))
    changes = update_recorded(goldens, new)
    after = contents(goldens)
    assert kinds(changes) == {
        "gone.jsonl": "kept",
        "other.jsonl": "rewritten",
        "same.jsonl": "unchanged",
        "extra.jsonl": "created",
    }
    assert {after[name] == before[name] for name in ("same.jsonl", "gone.jsonl")} == {True}
    assert after["other.jsonl"][0] == (new / "other.jsonl").read_bytes()
    assert after["sub/extra.jsonl"][0] == (new / "sub" / "extra.jsonl").read_bytes()


def cut(path: Path) -> None:
    """Cut a trace short."""
    path.write_bytes(path.read_bytes()[:-9])


REFUSED = {
    "cut-short": (1.0, cut, "ends in the middle"),
    "no-trace": (1.0, lambda path: path.write_text("no trace\n"), "b.jsonl:1"),
    "undeclared-nan": (math.nan, lambda path: None, "holds 1 NaN"),
    "contract-broken": (
        1.0,
        lambda path: path.write_text(path.read_text().replace('"max":2.0', '"max":1.0')),
        "breaks its contract",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_new_trace_that_does_not_do(case: str, tmp_path: Path) -> None:
    """A new trace that is no whole trace, or breaks its contract, becomes no golden."""
    value, spoil, message = REFUSED[case]
    goldens, new = tmp_path / "goldens", tmp_path / "new"
    own_trace(goldens / "a.jsonl")
    own_trace(new / "a.jsonl", 5.0)
    spoil(own_trace(new / "b.jsonl", value))
    before = contents(aged(goldens))
    with pytest.raises(UsageError, match=message):
        update_recorded(goldens, new)
    assert contents(goldens) == before


def test_golden_that_cannot_be_written(tmp_path: Path) -> None:
    """Where one golden cannot be written, the others are not either, and nothing is left over."""
    goldens, new = tmp_path / "goldens", tmp_path / "new"
    for folder, value in ((goldens, 1.0), (new, 5.0)):
        own_trace(folder / "a.jsonl", value)
        own_trace(folder / "b.jsonl", value)
    results = gate_recorded(goldens, new)
    (goldens / "b.jsonl.partial").mkdir()
    before = contents(goldens)
    with pytest.raises(StorageError, match=r"b\.jsonl"):
        write_changes(plan_update(results))
    assert contents(goldens) == before
