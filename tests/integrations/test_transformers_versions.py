"""Two versions of transformers side by side: equal, or parted where they really part.

Version 4.57 is installed into a folder of its own beside the one that is installed. Skipped, with
the reason, where that is not possible.
"""

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from tracediff.diff import DiffOptions, Outcome, diff_traces
from tracediff.events import Event, Trace
from tracediff.storage import read_trace

runs = pytest.importorskip("generation_runs", reason="needs transformers and torch")

pytestmark = [
    pytest.mark.environment,
    pytest.mark.transformers,
    pytest.mark.filterwarnings("ignore"),  # of other packages
]

OLD = "4.57"
TESTS = Path(__file__).parent.parent
LATER = DiffOptions(skip=("module.loaded",))
"""5.x has a buffer more in its rotary embedding; what follows is compared."""


def record_all(folder: Path, *search: Path) -> Path:
    """Record with the packages in the folders `search` before the installed ones."""
    folder.mkdir()
    path = os.pathsep.join(map(str, (*search, TESTS)))
    command = [sys.executable, str(TESTS / "generation_versions.py"), str(folder)]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "PYTHONPATH": path})
    return folder


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the folders of both versions' traces."""
    if version("transformers").startswith(OLD):
        pytest.skip(f"transformers {OLD} is the installed one")
    folder = tmp_path_factory.mktemp("versions")
    wanted = [f"transformers=={OLD}.*", "--target", str(folder / "old"), "--quiet"]
    command = [sys.executable, "-m", "pip", "install", *wanted]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"transformers {OLD} cannot be installed: {done.stderr[-200:]}")
    return record_all(folder / "left", folder / "old"), record_all(folder / "right")


@pytest.mark.parametrize("name", ["greedy", "sampled", "padded"])
def test_versions_agree(both: tuple[Path, Path], name: str) -> None:
    """One config and seed give the same passes, draws, choices and texts."""
    left, right = (read_trace(folder / f"{name}.jsonl") for folder in both)
    found = diff_traces(left, right, LATER)
    assert found.outcome in (Outcome.EQUAL, Outcome.WITHIN_TOLERANCE), found.first
    (context,) = [change for change in found.context if change.field.endswith("transformers")]
    assert str(context.left).startswith(OLD)


def test_versions_part_at_the_penalty(both: tuple[Path, Path]) -> None:
    """4.57 penalises the id that pads a row, as if it had been said; 5.24 does not.

    Seen in both sources: 5.24 gives the processor the lengths of the padding, 4.57 does not.
    """
    left, right = (read_trace(folder / "penalty-padded.jsonl") for folder in both)
    found = diff_traces(left, right, LATER)
    assert found.first is not None
    assert found.first.left is not None
    assert found.cause is not None
    place = found.first.left
    assert (place.event_type, place.logical_step, place.lane) == ("token.selected", 1, {"row": 1})
    assert (found.cause.kind, found.cause.component) == ("processor", "repetition_penalty")

    mine, other = (processed(padded_row(trace, place.event_id)) for trace in (left, right))
    apart = [token for token, pair in enumerate(zip(mine, other, strict=True)) if len({*pair}) > 1]
    raw = numbers(padded_row(left, place.event_id), "inputs")[runs.PAD]
    assert apart == [runs.PAD]
    assert other[runs.PAD] == raw
    assert mine[runs.PAD] == pytest.approx(raw * 1.2 if raw < 0 else raw / 1.2, rel=1e-6)


def padded_row(trace: Trace, event_id: str) -> Event:
    return next(event for event in trace.events if event.event_id == event_id)


def processed(event: Event) -> list[float]:
    return numbers(event, "outputs")


def numbers(event: Event, section: str) -> list[float]:
    records: list[dict[str, Any]] = event.payload[section]
    return [float(number) for number in records[0]["values"]]
