"""Committed goldens: a fresh run gives the same bytes, whatever the process runs under.

`tracediff.write_trace(tracediff.run_fixture("text-001"), "traces/text-001.jsonl")` rewrites one.
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

LARGEST = {"text-001": 150_000, "image-001": 200_000, "tool-001": 80_000, "ddim-2d": 10_000}

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

CHILD = """
import json, sys
import numpy
found = numpy.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
import tracediff
fixture, folder, *injections = sys.argv[1:]
tracediff.write_trace(tracediff.run_fixture(fixture), f"{folder}/{fixture}.jsonl")
for injection in injections:
    trace = tracediff.run_fixture(fixture, injection=injection)
    tracediff.write_trace(trace, f"{folder}/{fixture}.{injection}.jsonl")
json.dump(found, sys.stdout)
"""


def fresh_runs(fixture: str, folder: Path, environment: dict[str, str]) -> list[str]:
    """Run a fixture and its branches in a child process; return the SIMD features that it used."""
    child = subprocess.run(
        [sys.executable, "-c", CHILD, fixture, str(folder), *WORKLOADS[fixture].injections],
        env={**os.environ, **environment},
        check=True,
        capture_output=True,
        text=True,
    )
    features = json.loads(child.stdout)
    assert isinstance(features, list)
    return features


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
    fresh_runs(fixture, tmp_path, VARIATIONS[variation])
    assert_equal_goldens(fixture, tmp_path)


@pytest.mark.parametrize("fixture", WORKLOADS)
def test_fresh_run_without_simd_is_identical(fixture: str, tmp_path: Path) -> None:
    """The bytes are the same with numpy's optional SIMD kernels switched off."""
    configuration = np.show_config(mode="dicts")
    assert configuration is not None
    features = configuration["SIMD Extensions"].get("found", [])
    if not features:
        pytest.skip("numpy uses no optional SIMD kernels on this machine")
    left_on = fresh_runs(fixture, tmp_path, {"NPY_DISABLE_CPU_FEATURES": " ".join(features)})
    assert left_on == [], "numpy did not switch these off, so nothing was tested"
    assert_equal_goldens(fixture, tmp_path)


@pytest.mark.parametrize(("fixture", "injection"), BRANCHES)
def test_golden_keeps_its_contract(fixture: str, injection: str | None) -> None:
    """The golden itself breaks no rule."""
    report = tracediff.check_trace(tracediff.read_trace(golden_path(fixture, injection)))
    assert report.violations == ()
    assert len(report.applied) >= 8
