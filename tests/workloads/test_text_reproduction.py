"""What reproduces text-001: the same bits again, other numeric paths closely, and its weights."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tracediff.events import Trace
from tracediff.workloads.definitions import data_folder
from tracediff.workloads.run import run_fixture

ROOT = Path(__file__).parents[2]


@cache
def main_line(kernel: str = "ordered") -> Trace:
    return run_fixture("text-001", kernel=kernel, tensors="values=4096")


def values_of(record: Any) -> np.ndarray[Any, Any]:
    return np.array(record["values"], np.float32).reshape(record["shape"])


def test_runs_repeat_themselves() -> None:
    """Two runs record the same events."""
    assert main_line().events == run_fixture("text-001", tensors="values=4096").events


@pytest.mark.parametrize("kernel", ["blas", "float64"])
def test_other_numeric_paths_agree(kernel: str) -> None:
    """Another path computes other bits, within tolerance, and everything discrete is the same."""
    other = main_line(kernel)
    differing = 0
    for left, right in zip(main_line().events, other.events, strict=True):
        assert (left.event_type, left.parent_event_id) == (right.event_type, right.parent_event_id)
        for section in left.payload.keys() - {"trace", "inputs", "outputs", "choice"}:
            assert left.payload[section] == right.payload[section]
        choices = [dict(event.payload.get("choice", {})) for event in (left, right)]
        tops = [choice.pop("top", []) for choice in choices]
        assert choices[0] == choices[1]
        assert [token for token, _ in tops[0]] == [token for token, _ in tops[1]]
        for section in ("inputs", "outputs"):
            pairs = zip(left.payload.get(section, ()), right.payload.get(section, ()), strict=True)
            for a, b in pairs:
                assert (a["name"], a["dtype"]) == (b["name"], b["dtype"])
                differing += a["digest"] != b["digest"]
                # The format's default tolerance for float32.
                np.testing.assert_allclose(values_of(a), values_of(b), rtol=1.3e-6, atol=1e-5)
    assert differing > 20


def test_weights_are_rebuilt(tmp_path: Path) -> None:
    """The script beside the weights writes the very same file."""
    folder = data_folder("fixtures") / "text-001"
    rebuilt = tmp_path / "weights.safetensors"
    subprocess.run(
        [sys.executable, str(folder / "build_weights.py"), str(rebuilt)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
    )
    assert rebuilt.read_bytes() == (folder / "weights.safetensors").read_bytes()
