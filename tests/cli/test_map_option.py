"""`tracediff diff --map`: two traces whose names differ are compared under left's names."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tracediff import Recorder

Command = Callable[..., Any]


@pytest.fixture
def renamed(tmp_path: Path) -> Path:
    """Write old.jsonl and new.jsonl, the same work under two names, and return their folder."""
    for name, prefix in (("old", "layers"), ("new", "blocks")):
        with Recorder(tmp_path / f"{name}.jsonl") as recorder:
            for layer in range(3):
                output = np.full(4, layer, np.float32)
                recorder.event(
                    "module", f"{prefix}.{layer}", outputs={f"{prefix}.{layer}.out": output}
                )
    return tmp_path


def test_without_rules_they_diverge(renamed: Path, tracediff: Command) -> None:
    """Other names are a divergence."""
    assert tracediff("diff", "old.jsonl", "new.jsonl").status == 1


def test_rules_line_them_up(renamed: Path, tracediff: Command) -> None:
    """Under a map they are equal, and the report says that a map was applied."""
    (renamed / "names.map").write_text("layers.* -> blocks.*\n")
    done = tracediff("diff", "old.jsonl", "new.jsonl", "--map", "names.map")
    assert done.status == 0, done.out + done.err
    assert done.out.startswith("EQUAL")
    assert "names.map" in done.out


BAD = {
    "fits-nothing": (
        "layers.* -> blocks.*\nheads.* -> tops.*\n",
        "fits no tensor, event type or name",
    ),
    "no-rule": ("layers\n", "names.map:1"),
    "empty": ("# nothing\n", "holds no rule"),
    "two-onto-one": ("layers.0* -> blocks.0*\nlayers.1* -> blocks.0*\n", "both stand for"),
}


@pytest.mark.parametrize(("rules", "reason"), BAD.values(), ids=BAD.keys())
def test_bad_rules(rules: str, reason: str, renamed: Path, tracediff: Command) -> None:
    """A map that cannot be right is no comparison."""
    (renamed / "names.map").write_text(rules)
    done = tracediff("diff", "old.jsonl", "new.jsonl", "--map", "names.map")
    assert done.status == 2
    assert reason in done.err


def test_missing_file(renamed: Path, tracediff: Command) -> None:
    """A map that is not there is named."""
    done = tracediff("diff", "old.jsonl", "new.jsonl", "--map", "nowhere.map")
    assert (done.status, done.out) == (2, "")
    assert "cannot read nowhere.map" in done.err
