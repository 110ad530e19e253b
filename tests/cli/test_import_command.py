"""`tracediff import` as a user runs it; the formats are tested in tests/importing."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Command = Callable[..., Any]

LOG = "    aten::relu(t: f32[2])  ->  t: f32[2]  # {'hash': 1.5}\n"
DUMP = {"data": {"Module.a.ReLU.forward.0": {"output": [{"dtype": "torch.int8", "shape": [2]}]}}}


@pytest.fixture
def dumps(tmp_path: Path) -> None:
    """Write one dump of each kind."""
    np.savez(tmp_path / "x.npz", a=np.ones(3), b=np.zeros(2))
    (tmp_path / "run.log").write_text(LOG)
    (tmp_path / "dump.json").write_text(json.dumps(DUMP))


@pytest.mark.usefixtures("dumps")
@pytest.mark.parametrize(
    ("kind", "source", "counted", "status"),
    [
        pytest.param("tensors", "x.npz", {"tensors": 2, "skipped": []}, 0, id="tensors"),
        pytest.param("msprobe", "dump.json", {"calls": 1}, 1, id="msprobe"),
        pytest.param("debugmode", "run.log", {"operators": 1}, 1, id="debugmode"),
    ],
)
def test_import_then_diff(
    kind: str, source: str, counted: dict[str, Any], status: int, tracediff: Command
) -> None:
    """What was imported is a valid trace; two of a kind are equal only where that is proven."""
    assert tracediff("import", kind, source, "-o", "a.jsonl").status == 0
    done = tracediff("import", kind, source, "-o", "b.jsonl", "--json")
    assert json.loads(done.out) == {"trace": "b.jsonl", **counted}
    assert tracediff("check", "a.jsonl").status == 0
    done = tracediff("diff", "a.jsonl", "b.jsonl")
    assert done.status == status
    assert ("undecidable" in done.out) is bool(status)


@pytest.mark.usefixtures("dumps")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["tensor", "x.npz", "-o", "a.jsonl"], "did you mean tensors", id="misspelt"),
        pytest.param(["tensors", "y.npz", "-o", "a.jsonl"], "cannot read y.npz", id="missing"),
        pytest.param(
            ["msprobe", "run.log", "-o", "a.jsonl"], "no JSON document", id="another-kind"
        ),
        pytest.param(
            ["tensors", "x.npz", "-o", "a.jsonl", "--tensors", "all"], "tensor level", id="level"
        ),
        pytest.param(["tensors", "x.npz", "-o", "no/a.jsonl"], "no does not exist", id="no-folder"),
    ],
)
def test_what_cannot_be_imported(
    arguments: list[str], message: str, tracediff: Command, tmp_path: Path
) -> None:
    """Exit status 2, one line, and no file left behind."""
    before = sorted(path.name for path in tmp_path.iterdir())
    done = tracediff("import", *arguments)
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == before
