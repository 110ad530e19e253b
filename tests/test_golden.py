"""Committed goldens: a fresh run gives the same bytes, whatever the process runs under.

`tracediff gate --update` rewrites those that changed; here it makes them anew in an empty folder.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tracediff
from tracediff.workloads.fixtures import WORKLOADS
from tracediff.workloads.run import golden_path

LARGEST = {
    "text-001": 150_000,
    "image-001": 200_000,
    "tool-001": 80_000,
    "ddim-2d": 10_000,
    "agent-001": 30_000,
}

BRANCHES = [
    (name, injection)
    for name, workload in WORKLOADS.items()
    for injection in (None, *workload.injections)
]
"""Every golden: the main line of each fixture, and its injections."""

VARIATIONS = {
    "one-thread": {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    "two-threads": {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"},
    "hash-seed-0": {"PYTHONHASHSEED": "0"},
    "hash-seed-4711": {"PYTHONHASHSEED": "4711"},
    "other-locale": {"LC_ALL": "C", "PYTHONUTF8": "0", "TZ": "Pacific/Kiritimati"},
}

FEATURES = """
import json, sys
import numpy
json.dump(numpy.show_config(mode="dicts")["SIMD Extensions"].get("found", []), sys.stdout)
"""


def run_python(*arguments: str, **environment: str) -> str:
    """Return what a Python process prints under changed variables."""
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, **environment},
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def make_goldens(fixture: str, folder: Path, **environment: str) -> None:
    """Have a fresh process make the goldens of a fixture and its branches in an empty folder."""
    options = ("--update", "--fixture", fixture, "--jobs", "1")
    run_python("-m", "tracediff", "gate", str(folder), *options, **environment)


def assert_equal_goldens(fixture: str, folder: Path) -> None:
    """Hold every file of a folder against the golden of its name."""
    fresh = {path.name: path.read_bytes() for path in folder.glob("*.jsonl")}
    injections = (None, *WORKLOADS[fixture].injections)
    goldens = [golden_path(fixture, injection) for injection in injections]
    assert set(fresh) == {golden.name for golden in goldens}
    for golden in goldens:
        assert fresh[golden.name] == golden.read_bytes(), golden.name


@pytest.mark.parametrize(("fixture", "injection"), BRANCHES)
def test_golden_is_small(fixture: str, injection: str | None) -> None:
    """A golden stays small enough to be read and committed."""
    assert golden_path(fixture, injection).stat().st_size <= LARGEST[fixture]


@pytest.mark.parametrize("fixture", WORKLOADS)
@pytest.mark.parametrize("variation", VARIATIONS)
def test_fresh_run_is_identical(fixture: str, variation: str, tmp_path: Path) -> None:
    """A fresh process writes the goldens' bytes."""
    make_goldens(fixture, tmp_path, **VARIATIONS[variation])
    assert_equal_goldens(fixture, tmp_path)


@pytest.mark.parametrize("fixture", WORKLOADS)
def test_fresh_run_without_simd_is_identical(fixture: str, tmp_path: Path) -> None:
    """The bytes are the same with numpy's optional SIMD kernels switched off."""
    configuration = np.show_config(mode="dicts")
    assert configuration is not None
    features = configuration["SIMD Extensions"].get("found", [])
    if not features:
        pytest.skip("numpy uses no optional SIMD kernels on this machine")
    switched_off = {"NPY_DISABLE_CPU_FEATURES": " ".join(features)}
    left_on = json.loads(run_python("-c", FEATURES, **switched_off))
    assert left_on == [], "numpy did not switch these off, so nothing was tested"
    make_goldens(fixture, tmp_path, **switched_off)
    assert_equal_goldens(fixture, tmp_path)


@pytest.mark.parametrize(("fixture", "injection"), BRANCHES)
def test_golden_keeps_its_contract(fixture: str, injection: str | None) -> None:
    """The golden itself breaks no rule."""
    report = tracediff.check_trace(tracediff.read_trace(golden_path(fixture, injection)))
    assert report.violations == ()
    assert len(report.applied) >= 8
