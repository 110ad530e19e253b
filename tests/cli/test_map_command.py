"""`tracediff map --suggest` as a user runs it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from trace_building import chain, event, tensor

from tracediff.cli.map_option import read_name_map
from tracediff.errors import StorageError, UsageError
from tracediff.storage import write_trace

Command = Callable[..., Any]

RULE = "layers.* -> blocks.*"


def write(path: Path, prefix: str, *extra: str) -> None:
    """Write a trace of two modules, and of others without outputs."""
    random = np.random.default_rng(2)
    outputs = [tensor("out", random.normal(size=100)) for _ in range(2)]
    events = [
        event(f"e{i}", event_type=f"{prefix}.{i}", outputs=[out]) for i, out in enumerate(outputs)
    ]
    events += [event(f"x{i}", event_type=name) for i, name in enumerate(extra)]
    write_trace(chain(event("r", state={"n": 1}), *events), path)


@pytest.mark.parametrize(
    ("extra", "status"),
    [pytest.param((), 0, id="all-matched"), pytest.param(("odd",), 1, id="some-unmatched")],
)
def test_suggest(extra: tuple[str, ...], status: int, tracediff: Command, tmp_path: Path) -> None:
    """Rules are printed with their evidence and written as a file that reads back."""
    write(tmp_path / "a.jsonl", "layers")
    write(tmp_path / "b.jsonl", "blocks", *extra)
    done = tracediff("map", "a.jsonl", "b.jsonl", "--suggest", "-o", "names.map")
    assert done.status == status
    assert RULE in done.out
    assert "2 names by equal tensors" in done.out
    assert ("only right" in done.out) is bool(extra)
    assert [rule.text for rule in read_name_map(str(tmp_path / "names.map")).rules] == [RULE]


def test_as_json(tracediff: Command, tmp_path: Path) -> None:
    """The proposal is one JSON document."""
    write(tmp_path / "a.jsonl", "layers")
    write(tmp_path / "b.jsonl", "blocks", "odd")
    found = json.loads(tracediff("map", "a.jsonl", "b.jsonl", "--suggest", "--json").out)
    assert found["format"] == "tracediff-map/1"
    assert [(rule["rule"], rule["evidence"]) for rule in found["rules"]] == [(RULE, {"digest": 2})]
    assert found["only_right"] == {"event": ["odd"], "tensor": [], "key": []}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["a.jsonl", "a.jsonl"], "map proposes rules with --suggest", id="no-suggest"),
        pytest.param(["a.jsonl", "no.jsonl", "--suggest"], "no.jsonl", id="missing-file"),
        pytest.param(["-", "-", "--suggest"], "only one of the two", id="two-inputs"),
    ],
)
def test_what_cannot_be_proposed(
    arguments: list[str], message: str, tracediff: Command, tmp_path: Path
) -> None:
    """Nothing to propose from is exit status 2 and one line."""
    write(tmp_path / "a.jsonl", "layers")
    done = tracediff("map", *arguments)
    assert (done.status, done.out) == (2, "")
    assert message in done.err


def test_rules_files_that_cannot_be_read(tmp_path: Path) -> None:
    """The error names the file."""
    with pytest.raises(StorageError, match="cannot read"):
        read_name_map(str(tmp_path / "missing"))
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="no text in UTF-8"):
        read_name_map(str(tmp_path / "binary"))
