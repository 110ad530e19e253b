"""Neither traces nor comparisons depend on the mode in which a thread computes."""

import ctypes
import platform
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import pytest

from tracediff import (
    DiffOptions,
    Outcome,
    Recorder,
    ToleranceRule,
    Tolerances,
    Trace,
    diff_traces,
    run_fixture,
)
from tracediff.errors import UsageError
from tracediff.events import arithmetic
from tracediff.events.arithmetic import is_usual, usual_arithmetic
from tracediff.events.element_types import Array
from tracediff.recording.levels import parse_level
from tracediff.recording.sinks import MemorySink
from tracediff.recording.summaries import Held, summarise_all
from tracediff.recording.summary import summarise_tensor

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or platform.machine() != "x86_64",
    reason="switches modes by the control word of x86-64",
)

Result = TypeVar("Result")

CONTROL_WORD = slice(28, 32)
"""Where the `fenv_t` of x86-64 holds it."""

MODES = {"flush-to-zero": 0x8040, "down": 0x2000, "up": 0x4000, "toward-zero": 0x6000}

GENERATOR = np.random.default_rng(5)
TENSORS: dict[str, Array] = {
    "subnormal": np.full(100, 1e-40, np.float32),
    "subnormal-large": np.full(40_000, -3e-42, np.float32),
    "subnormal-double": np.full(100, 5e-324),
    "usual": GENERATOR.normal(size=100).astype(np.float32),
    "usual-large": GENERATOR.normal(size=70_000).astype(np.float32),
    "half": GENERATOR.normal(size=500).astype(np.float16),
}


def in_mode(name: str, work: Callable[[], Result]) -> Result:
    """Return what `work` returns in a thread of its own that computes in a mode."""

    def run() -> Result:
        held, library = ctypes.create_string_buffer(32), ctypes.CDLL(None)
        library.fegetenv(held)
        word = int.from_bytes(held.raw[CONTROL_WORD], "little") | MODES[name]
        held[CONTROL_WORD] = word.to_bytes(4, "little")
        library.fesetenv(held)
        assert not is_usual()
        result = work()
        assert not is_usual()  # the mode is as before
        return result

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(run).result()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("tensor", TENSORS)
@pytest.mark.parametrize("level", ["digest", "sketch", "values=100"])
def test_summary(mode: str, tensor: str, level: str) -> None:
    """A tensor has one summary in every mode."""
    array = TENSORS[tensor]
    assert in_mode(mode, lambda: summarise_tensor(array, level=level)) == summarise_tensor(
        array, level=level
    )


@pytest.mark.parametrize("mode", MODES)
def test_summaries_of_many(mode: str) -> None:
    """So have tensors that are summarised together."""
    held = [
        Held(array, None, parse_level("sketch"))
        for array in (TENSORS["subnormal"], TENSORS["usual"])
        for _ in range(4)
    ]
    assert in_mode(mode, lambda: summarise_all(held)) == summarise_all(held)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fixture", ["text-001", "image-001"])
def test_fixture(mode: str, fixture: str) -> None:
    """A fixture has one trace in every mode."""
    assert in_mode(mode, lambda: run_fixture(fixture).events) == run_fixture(fixture).events


def test_comparison() -> None:
    """Numbers near zero that differ are not taken for equal where zero tolerance is asked for."""
    exact = Tolerances((ToleranceRule("*", "allclose", rtol=0.0, atol=0.0),))
    left, right = (summarised(value) for value in (1e-40, 2e-40))

    def compared() -> Outcome:
        return diff_traces(left, right, DiffOptions(tolerances=exact)).outcome

    assert in_mode("flush-to-zero", compared) == compared() == Outcome.DIVERGED


def summarised(value: float) -> Trace:
    """Return a trace of one event with one number."""
    sink = MemorySink()
    with Recorder(sink) as recorder:
        recorder.event("loop", "updated", outputs={"x": np.array([value], np.float32)})
    return sink.trace("one")


@pytest.mark.parametrize("mode", MODES)
def test_mode_is_noticed(mode: str) -> None:
    """Modes other than IEEE 754's are told from it, and are none within the block."""

    def work() -> tuple[bool, bool]:
        with usual_arithmetic():
            inside = is_usual()
        return is_usual(), inside

    assert is_usual()
    assert in_mode(mode, work) == (False, True)


def test_system_without_means_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the mode cannot be switched, nothing is recorded in it."""
    monkeypatch.setattr(arithmetic, "_library", lambda: None)
    with pytest.raises(UsageError, match="flushes numbers near zero"):
        in_mode("flush-to-zero", lambda: summarise_tensor(TENSORS["subnormal"]))
