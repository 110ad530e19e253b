"""`tracediff calibrate`, and the rules file that `diff --tolerance @FILE` takes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from trace_building import chain, event, tensor

from tracediff.storage import write_trace

Command = Callable[..., Any]


@pytest.fixture
def runs(tmp_path: Path) -> list[str]:
    """Return the names of three runs that differ by noise, and write a fourth of another token."""
    base = np.random.default_rng(3).normal(size=200)
    for seed in range(4):
        noise = 1 + 1e-4 * np.random.default_rng(seed).normal(size=200)
        value = (base * noise).astype(np.float32)
        events = [event("e", outputs=[tensor("out", value)]), event("t", choice={"id": seed // 3})]
        write_trace(chain(event("r", state={"n": 1}), *events), tmp_path / f"run{seed}.jsonl")
    return ["run0.jsonl", "run1.jsonl", "run2.jsonl"]


def test_calibrate_then_diff(tracediff: Command, runs: list[str]) -> None:
    """Runs that differ under the default are equal within the tolerance that was calibrated."""
    assert tracediff("diff", *runs[:2]).status == 1
    done = tracediff("calibrate", *runs, "-o", "rules.json")
    assert done.status == 0
    assert "out  allclose(" in done.out
    assert "3 runs; tensors: 3 by values" in done.out or "3 by sketch" in done.out
    done = tracediff("diff", *runs[:2], "--tolerance", "@rules.json")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("EQUAL WITHIN TOLERANCE")


def test_a_quiet_layer_keeps_its_rule(tracediff: Command, tmp_path: Path) -> None:
    """A name that needs much less than others of its form is kept from their glob, and so told."""
    base = np.random.default_rng(4).normal(size=(4, 60))
    for seed in range(2):
        outputs = []
        for layer, noise in enumerate((1e-3, 1e-3, 0.0, 1e-3)):
            error = 1 + noise * np.random.default_rng([seed, layer]).normal(size=60)
            outputs.append(tensor(f"layers.{layer}", (base[layer] * error).astype(np.float32)))
        found = chain(event("r", state={"n": 1}), event("e", outputs=outputs))
        write_trace(found, tmp_path / f"layers{seed}.jsonl")
    done = tracediff("calibrate", "layers0.jsonl", "layers1.jsonl")
    assert done.status == 0
    quiet, common = done.out.index("layers.2  allclose(rtol=1.3e-06"), done.out.index("layers.*  ")
    kept = done.out.index("keeps the rule without calibration, unlike names of its form; 1 name")
    assert quiet < kept < common


def test_the_same_run_twice_is_told(tracediff: Command, runs: list[str]) -> None:
    """A file beside itself measures nothing, so that it is given twice is told once."""
    done = tracediff("calibrate", runs[0], runs[1], runs[0], runs[0])
    assert done.status == 0
    assert done.err.count("run0.jsonl and run0.jsonl are one and the same file") == 1


def test_rules_of_a_file_may_fit_nothing(
    tracediff: Command, runs: list[str], tmp_path: Path
) -> None:
    """A file is written for many traces; a glob given by hand that fits nothing is a mistake."""
    rules = [
        {"match": "elsewhere", "mode": "exact"},
        {"match": "o*", "mode": "rel_l2", "rel_l2": 0.1},
    ]
    content = {"format": "tracediff-tolerances/1", "rules": rules}
    (tmp_path / "rules.json").write_text(json.dumps(content))
    assert tracediff("diff", *runs[:2], "--tolerance", "@rules.json").status == 0
    by_hand = ["--tolerance", "nowhere=exact", "--tolerance", "@rules.json"]
    done = tracediff("diff", *runs[:2], *by_hand)
    assert done.status == 2
    assert "'nowhere' fits no tensor" in done.err


def test_another_token_is_exit_status_one(tracediff: Command, runs: list[str]) -> None:
    """What no tolerance may absorb is printed, and in the JSON too."""
    done = tracediff("calibrate", *runs, "run3.jsonl")
    assert done.status == 1
    assert "payload.choice.id: 0 -> 1" in done.out
    found = json.loads(tracediff("calibrate", *runs, "run3.jsonl", "--json").out)
    assert [entry["field"] for entry in found["differences"]] == ["payload.choice.id"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["run0.jsonl"], "give two traces or more", id="one-run"),
        pytest.param(["run0.jsonl", "run1.jsonl", "--margin", "0.5"], "at least 1", id="margin"),
        pytest.param(["run0.jsonl", "run1.jsonl", "--margin", "nan"], "at least 1", id="nan"),
        pytest.param(["run0.jsonl", "missing.jsonl"], "missing.jsonl", id="missing-file"),
    ],
)
def test_what_cannot_be_calibrated(
    arguments: list[str], message: str, tracediff: Command, runs: list[str]
) -> None:
    """Exit status 2 and one line."""
    assert "run0.jsonl" in runs
    done = tracediff("calibrate", *arguments)
    assert (done.status, done.out) == (2, "")
    assert message in done.err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(None, "cannot read rules.json", id="missing"),
        pytest.param("{}", "rules.json: format: the key is missing", id="another-file"),
    ],
)
def test_files_that_hold_no_rules(
    content: str | None, message: str, tracediff: Command, runs: list[str], tmp_path: Path
) -> None:
    """The error names the file."""
    if content is not None:
        (tmp_path / "rules.json").write_text(content)
    done = tracediff("diff", *runs[:2], "--tolerance", "@rules.json")
    assert done.status == 2
    assert message in done.err
