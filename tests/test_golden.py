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
from tracediff.workloads.run import WORKLOADS, golden_path

LARGEST = {"text-001": 150_000}

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
tracediff.write_trace(tracediff.run_fixture(sys.argv[1]), sys.argv[2])
json.dump(found, sys.stdout)
"""


def fresh_run(fixture: str, path: Path, environment: dict[str, str]) -> list[str]:
    """Run a fixture in a child process; return the optional SIMD features that it used."""
    child = subprocess.run(
        [sys.executable, "-c", CHILD, fixture, str(path)],
        env={**os.environ, **environment},
        check=True,
        capture_output=True,
        text=True,
    )
    features = json.loads(child.stdout)
    assert isinstance(features, list)
    return features


@pytest.mark.parametrize("fixture", WORKLOADS)
def test_golden_is_small(fixture: str) -> None:
    """A golden stays small enough to be read and committed."""
    assert golden_path(fixture).stat().st_size <= LARGEST[fixture]


@pytest.mark.parametrize("fixture", WORKLOADS)
@pytest.mark.parametrize("variation", VARIATIONS)
def test_fresh_run_is_identical(fixture: str, variation: str, tmp_path: Path) -> None:
    """A fresh process writes the golden's bytes."""
    path = tmp_path / "fresh.jsonl"
    fresh_run(fixture, path, VARIATIONS[variation])
    assert path.read_bytes() == golden_path(fixture).read_bytes()


@pytest.mark.parametrize("fixture", WORKLOADS)
def test_fresh_run_without_simd_is_identical(fixture: str, tmp_path: Path) -> None:
    """The bytes are the same with numpy's optional SIMD kernels switched off."""
    configuration = np.show_config(mode="dicts")
    assert configuration is not None
    features = configuration["SIMD Extensions"].get("found", [])
    if not features:
        pytest.skip("numpy uses no optional SIMD kernels on this machine")
    path = tmp_path / "fresh.jsonl"
    left_on = fresh_run(fixture, path, {"NPY_DISABLE_CPU_FEATURES": " ".join(features)})
    assert left_on == [], "numpy did not switch these off, so nothing was tested"
    assert path.read_bytes() == golden_path(fixture).read_bytes()


@pytest.mark.parametrize("fixture", WORKLOADS)
def test_golden_keeps_its_contract(fixture: str) -> None:
    """The golden itself breaks no rule."""
    report = tracediff.check_trace(tracediff.read_trace(golden_path(fixture)))
    assert report.violations == ()
    assert len(report.applied) >= 8
