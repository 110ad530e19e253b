"""`tracediff show --timing`: from the sidecar, and clear where there is none."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def trace(tracediff: Callable[..., Any]) -> str:
    """Return the name of a trace with its sidecar."""
    assert tracediff("run", "text-001", "-o", "a.jsonl").status == 0
    return "a.jsonl"


def test_table_and_data(tracediff: Callable[..., Any], trace: str) -> None:
    """The table names every duration, the data has them as numbers."""
    shown = tracediff("show", trace, "--timing")
    assert shown.status == 0
    names = [line[:12].strip() for line in shown.out.splitlines()[:6]]
    assert names == ["whole", "first token", "per token", "prefill", "decode", "other"]
    assert shown.out.count("decode.completed") == 4
    found = json.loads(tracediff("show", trace, "--timing", "--json").out)
    parts = found["milliseconds"]
    assert parts["whole"] >= parts["first_token"] > parts["prefill"] > 0
    assert len(found["steps"]) == 5


def test_no_sidecar(tracediff: Callable[..., Any], trace: str, tmp_path: Path) -> None:
    """Without a sidecar the command says what writes one."""
    (tmp_path / "a.timing.jsonl").unlink()
    shown = tracediff("show", trace, "--timing")
    assert (shown.status, shown.out) == (2, "")
    assert "a.jsonl has no timing sidecar; `tracediff run`" in shown.err


def test_standard_input(tracediff: Callable[..., Any], trace: str, tmp_path: Path) -> None:
    """What comes by standard input has nothing beside it."""
    shown = tracediff("show", "-", "--timing", stdin=(tmp_path / trace).read_bytes())
    assert shown.status == 2
    assert "has no timing sidecar" in shown.err


def test_sidecar_of_another_trace(
    tracediff: Callable[..., Any], trace: str, tmp_path: Path
) -> None:
    """Times that do not belong to the events are not shown as theirs."""
    sidecar = tmp_path / "a.timing.jsonl"
    sidecar.write_text("".join(sidecar.read_text("utf-8").splitlines(True)[:3]), "utf-8")
    shown = tracediff("show", trace, "--timing")
    assert shown.status == 2
    assert "lacks 23 of its 25 events" in shown.err


def test_one_view_at_a_time(tracediff: Callable[..., Any], trace: str) -> None:
    """Two views at once are refused."""
    shown = tracediff("show", trace, "--timing", "--contract")
    assert shown.status == 2
    assert "show different things" in shown.err
