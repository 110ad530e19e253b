"""A project with one test that records a loop, to run pytest on.

The plugin's heavy modules are loaded here: pytester unloads what a run inside this process loads,
and numpy cannot be loaded twice.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from plugin_runs import LOOP

import tracediff
import tracediff.pytest_plugin.check
import tracediff.workloads.run
from tracediff.storage import TraceWriter

Write = Callable[..., Path]


@pytest.fixture(autouse=True)
def plain_runs(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep plugins out that take a second to load, and pytest's longer summary on CI services."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:hypothesispytest -p no:anyio")
    for name in ("CI", "BUILD_NUMBER"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """Return a folder whose test_loop.py has a golden that it reproduces."""
    pytester.makepyfile(test_loop=LOOP)
    pytester.runpytest_inprocess("--tracediff-update").assert_outcomes(passed=1)
    return pytester


@pytest.fixture
def write_numbers(tmp_path: Path) -> Write:
    """Return a function that writes a trace of one event with these numbers, whole or not."""

    def write(*numbers: float, whole: bool = True) -> Path:
        path = tmp_path / "fresh.jsonl"
        recorder = tracediff.Recorder(TraceWriter(path), kind="generic")
        recorder.event("loop", "updated", outputs={"x": list(numbers)})
        if whole:
            recorder.close()
            return path
        recorder.abandon()
        return path.with_name(path.name + ".partial")

    return write
