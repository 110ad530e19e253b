"""NaN in a golden's tensors fails unless it is declared."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gate_folders import own_trace
from trace_building import chain, event, tensor

from tracediff.diff import Outcome
from tracediff.gate import GateRules, gate_recorded
from tracediff.gate.nan import find_undeclared_nan, unused_nan_globs
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


FIELDS = {
    "number-in-choice": ({"choice": {"v": "NaN"}}, (), "field choice.v of event a"),
    "number-in-state": ({"state": {"m": {"v": "NaN"}}}, (), "field state.m.v"),
    "number-in-commit": ({"commit": {"v": ["NaN", 1]}}, (), "field commit.v"),
    "ranked": ({"choice": {"top": [[1, 0.5], [2, "NaN"]]}}, (), "field choice.top"),
    "ranked-beside-texts": ({"choice": {"top": [["x", "NaN"], ["y", 1]]}}, (), "choice.top"),
    "ranked-token-of-that-text": ({"choice": {"top": [["NaN", 0.5]]}}, (), ""),
    "text-among-texts": ({"choice": {"tokens": ["a", "NaN"]}}, (), ""),
    "text-in-a-field-of-texts": ({"choice": {"text": "NaN"}}, (), ""),
    "infinity": ({"choice": {"v": "Infinity"}}, (), ""),
    "setting": ({"settings": {"v": "NaN"}}, (), ""),
    "declared": ({"choice": {"v": "NaN"}}, ("choice.*",), ""),
}


@pytest.mark.parametrize("case", FIELDS)
def test_nan_outside_tensors(case: str) -> None:
    """A number of state, choice or commit is no pass as NaN; a text may read so."""
    payload, globs, said = FIELDS[case]
    other = {"choice": {"text": "some text"}}
    found = find_undeclared_nan(chain(event("a", **payload), event("b", **other)), globs)
    assert said in (found or "")
    assert (found is None) == (not said)


@pytest.mark.parametrize(
    ("globs", "unused"),
    [
        pytest.param(("x", "choice.v"), (), id="tensor-and-field"),
        pytest.param(("*",), (), id="all"),
        pytest.param(("zz", "x"), ("zz",), id="none"),
        pytest.param(("choice.text",), ("choice.text",), id="field-of-texts"),
    ],
)
def test_globs_that_fit_nothing(globs: tuple[str, ...], unused: tuple[str, ...]) -> None:
    """A glob is used where a tensor, or a field with a number, has such a name in any trace."""
    tensors = {"outputs": [tensor("x", np.ones(2, np.float32))]}
    one = chain(event("a", **tensors), event("b", choice={"text": "t"}))
    other = chain(event("a", choice={"v": 1}))
    assert unused_nan_globs((one, other), globs) == unused


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
