"""Test files of an inner pytest run, and ways to change and run them."""

import pytest

LOOP = """
import numpy as np

def test_loop(trace_recorder, assert_trace):
    x = np.ones(3, np.float32)
    for step in range(3):
        x = np.sin(x)
        trace_recorder.event("loop", "updated", logical_step=step, outputs={"x": x})
    assert_trace(trace_recorder, "loop")
"""
"""A test that records a loop."""

HEAD = """
import math
import pytest
import tracediff

def record(recorder, value=1.0):
    recorder.event("loop", "updated", outputs={"x": [value]})
    return recorder

"""
"""What a test file of `run_body` has at its top."""


def edit(project: pytest.Pytester, old: str, new: str, file: str = "test_loop.py") -> None:
    """Replace text in a file of the inner project; `old` has to be there."""
    path = project.path / file
    assert old in path.read_text("utf-8")
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")


def run_body(pytester: pytest.Pytester, *lines: str, update: bool = True) -> pytest.RunResult:
    """Run a test of these lines, first with --tracediff-update unless told otherwise."""
    body = "".join(f"    {line}\n" for line in lines)
    pytester.makepyfile(test_it=f"{HEAD}\ndef test_it(trace_recorder, assert_trace):\n{body}")
    if update:
        pytester.runpytest_inprocess("--tracediff-update")
    return pytester.runpytest_inprocess("-W", "error")
