"""What reproduces tool-001: its weights are rebuilt, and one weight more or less is seen."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tool_runs import definition, main_line

from tracediff.diff import diff_traces
from tracediff.workloads import tool
from tracediff.workloads.definitions import data_folder
from tracediff.workloads.run import run_fixture

ROOT = Path(__file__).parents[2]


def test_weights_are_rebuilt(tmp_path: Path) -> None:
    """The script beside the weights writes the very same file."""
    folder = data_folder("fixtures") / "tool-001"
    rebuilt = tmp_path / "weights.safetensors"
    subprocess.run(
        [sys.executable, str(folder / "build_weights.py"), str(rebuilt)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
    )
    assert rebuilt.read_bytes() == (folder / "weights.safetensors").read_bytes()


def test_the_last_norm_has_no_gain() -> None:
    """All final states have one length, so no weight but the rows decides who wins."""
    assert "final_norm" not in definition().weights


@pytest.mark.parametrize("name", ["embedding", "layers.0.query", "layers.1.down", "unembedding"])
def test_one_changed_weight_is_seen_in_the_first_call(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A weight that differs moves tensors of t00, before anything is chosen."""
    build = tool.build_decoder
    token = main_line().root.payload["state"]["input_ids"][0][-1]

    def build_changed(config: Any, weights: Any, kernel: Any) -> Any:
        changed = weights[name].copy()
        changed[token % len(changed), 0] += np.float32(0.5)
        return build(config, {**weights, name: changed}, kernel)

    monkeypatch.setattr(tool, "build_decoder", build_changed)
    diff = diff_traces(main_line(), run_fixture("tool-001"))
    assert diff.first is not None
    assert diff.first.left is not None
    assert (diff.first.left.event_id, diff.first.check) == ("t00", "outputs")
