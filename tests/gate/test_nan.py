"""NaN in a golden's tensors fails unless it is declared."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
from gate_folders import own_trace

from tracediff.diff import Outcome
from tracediff.gate import GateRules, gate_recorded
from tracediff.gate.rules import find_undeclared_nan
from tracediff.storage import read_trace
from tracediff.workloads import ddim_2d_fixture


def folders(tmp_path: Path, golden: float, new: float) -> tuple[Path, Path]:
    """Write a golden and a new trace of one name that hold these numbers."""
    goldens, recorded = tmp_path / "goldens", tmp_path / "new"
    own_trace(goldens / "a.jsonl", golden)
    own_trace(recorded / "a.jsonl", new)
    return goldens, recorded


@pytest.mark.parametrize(
    ("globs", "outcome"),
    [
        pytest.param((), Outcome.DIVERGED, id="undeclared"),
        pytest.param(("y", "x2"), Outcome.DIVERGED, id="another-tensor"),
        pytest.param(("x*",), Outcome.EQUAL, id="declared"),
    ],
)
def test_golden_with_nan(globs: tuple[str, ...], outcome: Outcome, tmp_path: Path) -> None:
    """NaN that is reproduced still fails, with event and tensor, unless a glob allows it."""
    goldens, new = folders(tmp_path, math.nan, math.nan)
    (result,) = gate_recorded(goldens, new, GateRules(nan_tensors=globs))
    assert result.diff.outcome is outcome
    named = "tensor x of event a holds 1 NaN" in result.diff.message
    assert named is (outcome is Outcome.DIVERGED)


def test_divergence_keeps_its_report(tmp_path: Path) -> None:
    """Where the traces part anyway, the NaN is a warning beside the first divergence."""
    goldens, new = folders(tmp_path, math.nan, 1.0)
    (result,) = gate_recorded(goldens, new)
    assert result.diff.first is not None
    assert "holds 1 NaN" in result.diff.warnings[-1]


def test_nan_is_counted_in_values_too(tmp_path: Path) -> None:
    """A record of foreign making that counts no NaN but holds some does not slip through."""
    trace = read_trace(own_trace(tmp_path / "a.jsonl", math.nan))
    record = dict(trace.events[0].payload["outputs"][0])
    record["stats"] = {key: value for key, value in record["stats"].items() if key != "nan"}
    first = replace(trace.events[0], payload={**trace.events[0].payload, "outputs": [record]})
    found = find_undeclared_nan(replace(trace, events=(first, *trace.events[1:])), ())
    assert found is not None


def test_fixture_declares_its_nan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the golden's fixture declares passes."""
    trace = read_trace(own_trace(tmp_path / "a.jsonl", math.nan, fixture="ddim-2d"))
    assert find_undeclared_nan(trace, ()) is not None
    declaring = replace(ddim_2d_fixture.WORKLOAD, nan_tensors=("x",))
    monkeypatch.setattr(ddim_2d_fixture, "WORKLOAD", declaring)
    assert find_undeclared_nan(trace, ()) is None
